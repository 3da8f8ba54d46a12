# Fails if an article has more than ten words.
for article in article-*.txt; do
  words=$(wc -w <"$article")
  [ "$words" -le 10 ] || { echo "$article has $words words"; exit 1; }
done
echo "short enough"
