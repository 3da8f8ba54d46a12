# The project's own tests. The gate checks the exit code.
failed=0
check() {
  [ "$1" = "$2" ] && return
  echo "expected $2, got $1"
  failed=1
}
check "$(sh sum.sh 2 3)" 5
[ "$failed" = 0 ] && check "$(sh sum.sh 2>/dev/null)" 0
[ "$failed" = 0 ] && echo "all tests pass"
exit $failed
