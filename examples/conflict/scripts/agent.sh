# Plays the writers of this example, each in its own worktree. A real agent gets the same prompt as its argument.
set -eu
case $REEVE_NODE_ID in
  ana | ben)
    echo "${1#*: }" >motto.txt
    echo "the motto is now: $(cat motto.txt)"
    # Each waits until the other has written too, so that neither sees what the other did.
    meeting=${TMPDIR:-/tmp}/reeve-example-$REEVE_EXECUTION_ID-$(id -u)
    mkdir -p "$meeting"
    touch "$meeting/$REEVE_NODE_ID"
    until [ -e "$meeting/ana" ] && [ -e "$meeting/ben" ]; do sleep 0.05; done
    ;;
  cleo)
    echo "cleo" >>authors.txt
    echo "cleo is an author"
    ;;
  report)
    echo "the motto is: $(cat motto.txt)"
    ;;
esac
