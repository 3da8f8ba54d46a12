# Plays an agent: it works, asks, exits with 90, and is started again with the answer.
if [ -z "$AUTO_APPROVAL" ]; then
  echo "building 1.4.0"
  echo '{"event":"approval_needed","question":"Release 1.4.0?"}'
  exit 90
fi
echo "released 1.4.0"
