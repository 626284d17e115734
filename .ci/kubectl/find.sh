#!/bin/sh
# Prints the path of a kubectl of version 1.32 or newer, or fails.
for k in "${WRIT_KUBECTL:-}" "$(command -v kubectl)" "$(dirname "$0")/../../bin/kubectl"; do
	[ -n "$k" ] && [ -x "$k" ] || continue
	minor=$("$k" version --client 2>/dev/null | sed -n 's/^Client Version: v1\.\([0-9]*\).*/\1/p')
	if [ "${minor:-0}" -ge 32 ]; then
		readlink -f "$k"
		exit 0
	fi
done
exit 1
