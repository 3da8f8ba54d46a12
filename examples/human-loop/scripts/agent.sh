# Plays the writer of this example. A real agent receives the same prompt as its argument.
set -eu
case $REEVE_NODE_ID in
  draft)
    remarks=$(printf '%s' "$1" | sed -n 's/.*"comment":"\([^"]*\)".*/\1/p')
    echo "We open on Monday.${remarks:+ ($remarks)}" >announcement.txt
    cat announcement.txt
    ;;
  publish)
    mv announcement.txt published.txt
    echo "published"
    ;;
esac
