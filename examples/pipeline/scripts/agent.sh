# Plays the architect and the coder of this example. A real agent receives the same prompt as its argument.
set -eu
case $1 in
  Design*)
    echo "one function, one test" | tee design.txt
    ;;
  Write*)
    # The comment from the approval is part of the prompt.
    printf '%s\n' "$1" >prompt.txt
    echo 'echo "done"' >feature.sh
    echo "wrote feature.sh"
    ;;
esac
