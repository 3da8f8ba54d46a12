# Plays the implementer of this example. A real agent receives the same prompt as its argument.
set -eu
case $REEVE_NODE_ID in
  implement)
    cat >greet.sh <<'END'
# Greets a person by name, or the world.
echo "Hello, ${1:-world}!"
END
    cat >greet_test.sh <<'END'
# Fails when the greeting is wrong.
[ "$(sh greet.sh)" = "Hello, world!" ] && [ "$(sh greet.sh Ana)" = "Hello, Ana!" ] && echo "2 tests pass"
END
    echo "wrote greet.sh and greet_test.sh"
    ;;
  merge)
    echo "- Greets by name." >>CHANGELOG.md
    echo "noted in CHANGELOG.md"
    ;;
esac
