#!/usr/bin/env bash
# redis-cli prints each value on a line of its own. Payloads of one line only.
ask() { redis-cli -p "${DUELEASE_PORT:-7420}" "$@"; }

cancel() {
  [ -n "$2" ] || { echo "an order of nothing"; return 1; }
  echo "nobody paid $1: cancelling $2" >&2
}

while claimed=$(ask CLAIM unpaid "shell-$$" WAIT 30s); do
  { read -r order; read -r token; read -r _; read -r _; read -r _; read -r goods; } <<<"$claimed"
  [ -n "$order" ] || continue  # None was due in time.
  if error=$(cancel "$order" "$goods"); then
    ask COMPLETE unpaid "$order" "$token"
  else  # It comes again later, until its tries are used up.
    ask FAIL unpaid "$order" "$token" ERROR "$error"
  fi
done
