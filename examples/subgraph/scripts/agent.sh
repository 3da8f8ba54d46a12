# Plays the agents of this example. A real one receives the same prompt as its argument.
set -eu
case $REEVE_NODE_ID in
  plan)
    # The fields in this file are available to the nodes that follow.
    printf '{"news_subject": "the harvest", "letters_subject": "the weather"}' >"$REEVE_OUTPUT"
    echo "two articles"
    ;;
  draft)
    subject=${1#*about }
    # The run id keeps the files of the two parallel runs apart.
    echo "Everybody talks about $subject" | tee "article-$REEVE_RUN_ID.txt"
    ;;
  print)
    echo "${1#*together. }" >newsletter.txt
    echo "wrote newsletter.txt"
    ;;
esac
