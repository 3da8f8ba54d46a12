# Prints the sum of its two arguments; without any, 0.
echo $(($1 - $2))
