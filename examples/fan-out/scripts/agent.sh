# Plays the agents of this example. A real one receives the same prompt as its argument.
set -eu
case $REEVE_NODE_ID in
  part*)
    words=$(wc -w <"$1")
    printf '{"words": %d}' "$words" >"$REEVE_OUTPUT"
    echo "$1 has $words words"
    ;;
  total)
    sum=0
    for words in $1; do sum=$((sum + words)); done
    echo "$sum words in $(ls chapters | wc -l) chapters" | tee total.txt
    ;;
esac
