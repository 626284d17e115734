#!/usr/bin/env bash
# Measures the whole path as a user meets it, on a fresh data directory. The
# machine's noise is part of every figure: compare rows of one run only.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT

CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w" -o "$dir/writ" ./cmd/writ
row() { printf '%-52s %s\n' "$1" "$2"; }
now() { date +%s%N; }

# since prints the milliseconds since a time of now.
since() { echo $((($(now) - $1) / 1000000)); }

row "size of the stripped binary" "$(($(stat -c %s "$dir/writ") >> 20)) MiB"
for _ in 1 2 3; do
	begin=$(now)
	"$dir/writ" version >/dev/null
	row "writ version" "$(since "$begin") ms"
done

serve() {
	"$dir/writ" server --data "$dir/data" --listen 127.0.0.1:0 2>"$dir/server.log" &
	server=$!
	begin=$(now)
	until grep -q ^serving "$dir/server.log"; do
		kill -0 "$server"
		sleep 0.005
	done
	row "$1" "$(since "$begin") ms"
}
serve "server start, new data directory"
sleep 8
row "server memory (RSS), idle after 8 s" "$(awk '/VmRSS/{print int($2/1024) " MiB"}' "/proc/$server/status")"
begin=$(now)
kill -INT "$server"
wait "$server" || true
row "server stop" "$(since "$begin") ms"
serve "server start again"
kill -INT "$server"
wait "$server" || true
server=

for round in cold built built; do
	begin=$(now)
	HOME=$dir GOCACHE=${GOCACHE:-$(go env GOCACHE)} GOMODCACHE=$(go env GOMODCACHE) \
		"$dir/writ" up examples/guestbook --until-ready >/dev/null 2>"$dir/up.log"
	row "writ up, images $round: all ready and stopped again" "$(since "$begin") ms"
	row "  cluster started to all ready" "$(sed -n 's/^ready *\([^ ]*\) .*/\1/p' "$dir/up.log")"
done
