#!/bin/bash
# What the action does: install, record, judge. It reads HEAPTRACK_* (action.yml) and GITHUB_*.
set -euo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/heap.XXXXXX")
echo "recordings=$folder" >>"${GITHUB_OUTPUT:-/dev/null}"

if [ -n "${HEAPTRACK_FROM:-}" ]; then
	case $HEAPTRACK_FROM in
	http://* | https://*) curl -fsSL -o "$folder/install.sh" "${HEAPTRACK_FROM%/}/install.sh" ;;
	*) cp "$HEAPTRACK_FROM/install.sh" "$folder/" ;;
	esac
	sh "$folder/install.sh" --from "$HEAPTRACK_FROM" --prefix "${RUNNER_TEMP:-$HOME}/heaptrack" >/dev/null
	rm "$folder/install.sh"
	PATH="${RUNNER_TEMP:-$HOME}/heaptrack/bin:$PATH"
	echo "${PATH%%:*}" >>"${GITHUB_PATH:-/dev/null}"
fi

new=() base=() limits=()
for run in $(seq "${HEAPTRACK_RUNS:-3}"); do
	heaptrack -q -o "$folder/new$run.zst" bash -c "exec $HEAPTRACK_RUN"
	new+=("$folder/new$run.zst")
	if [ -n "${HEAPTRACK_BASE:-}" ]; then
		(cd "$HEAPTRACK_BASE" && heaptrack -q -o "$folder/base$run.zst" bash -c "exec $HEAPTRACK_RUN")
		base+=(-d "$folder/base$run.zst")
	fi
done
while IFS= read -r limit; do
	[ -z "$limit" ] || limits+=(--fail-if "$limit")
done <<<"${HEAPTRACK_FAIL_IF:-}"

status=0
heaptrack_print "${new[@]}" ${base[@]+"${base[@]}"} ${limits[@]+"${limits[@]}"} \
	${limits[@]+--junit "$folder/heap.xml"} --markdown >"$folder/report.md" || status=$?
cat "$folder/report.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
exit $status
