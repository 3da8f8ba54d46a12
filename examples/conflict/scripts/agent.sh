# Plays the writers of this example, each in its own worktree. A real agent receives the same prompt as its argument.
set -eu
meeting=$(git rev-parse --git-common-dir)/meeting-$REEVE_EXECUTION_ID
case $REEVE_NODE_ID in
  ana | ben)
    echo "${1#*: }" >motto.txt
    echo "the motto is now: $(cat motto.txt)"
    # Each waits until the other has written too, so that neither sees the other's change.
    mkdir -p "$meeting"
    touch "$meeting/$REEVE_NODE_ID"
    until [ -e "$meeting/ana" ] && [ -e "$meeting/ben" ]; do sleep 0.05; done
    ;;
  cleo)
    echo "cleo" >>authors.txt
    echo "cleo is an author"
    ;;
  report)
    rm -rf "$meeting"
    echo "the motto is: $(cat motto.txt)"
    ;;
esac
