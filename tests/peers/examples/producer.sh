#!/usr/bin/env bash
# SCHEDULED, or what it met.
redis-cli -p "${DUELEASE_PORT:-7420}" SCHEDULE unpaid "$1" "$2" PAYLOAD "$3"
