# Plays the agents of this example. A real one gets the same prompt as its argument.
set -eu
case $REEVE_NODE_ID in
  plan)
    # What a task reports in this file are fields for the nodes behind it.
    printf '{"news_subject": "the harvest", "letters_subject": "the weather"}' >"$REEVE_OUTPUT"
    echo "two articles"
    ;;
  draft)
    subject=${1#*about }
    # The name of the run keeps the two that work at once apart.
    echo "Everybody talks about $subject" | tee "article-$REEVE_RUN_ID.txt"
    ;;
  print)
    echo "${1#*together. }" >newsletter.txt
    echo "wrote newsletter.txt"
    ;;
esac
