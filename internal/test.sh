#!/bin/bash
# Runs every check of the project. Works from any directory, prints what it does,
# ends 1 if a check failed.
#
# usage: internal/test.sh [-long] [-fuzz SECONDS]
#
#	-long          also the nested modules, and with QUERN_LONG=1 the tests that
#	               take minutes; fuzzes a minute per target
#	-fuzz SECONDS  time per fuzz target (default 5), 0 for none
#
# Installs a C compiler, MariaDB and MySQL where it can, Chromium too with -long, and
# says what to install where it cannot; see internal/testservers for what the environment decides.
set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
long= seconds=
usage() { sed -n '/^# usage/,/^# Installs/s/^#[[:space:]]\{0,1\}//p' "$0" | sed '$d'; exit 2; }
while [ $# -gt 0 ]; do
	case $1 in
	-long) long=1 ;;
	-fuzz) seconds=${2:-}; shift; case $seconds in '' | *[!0-9]*) usage ;; esac ;;
	*) usage ;;
	esac
	shift
done
[ -n "$seconds" ] || seconds=${long:+60}
seconds=${seconds:-5}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
passed=0 failed=0 skipped=0 failures=

# check NAME COMMAND...: runs a command that fails or prints nothing.
check() {
	local name=$1 start=$SECONDS
	shift
	if "$@" >"$tmp/out" 2>&1 </dev/null; then
		passed=$((passed + 1))
		echo "ok    $name ($((SECONDS - start)) s)"
	else
		failed=$((failed + 1)) failures="$failures	$name"$'\n'
		echo "FAIL  $name ($((SECONDS - start)) s)"
		sed 's/^/	/' "$tmp/out"
	fi
}

skip() { # NAME REASON
	skipped=$((skipped + 1))
	echo "skip  $1: $2"
}

unformatted() {
	local files
	files=$(gofmt -l .) && [ -z "$files" ] || { echo "${files:-gofmt failed}"; return 1; }
}

# tests DIRECTORY FLAG... PACKAGE...: go test there, with the lines of its packages, how
# far those that measure it are from their goals, and the whole output of those that fail.
tests() {
	local dir=$1
	shift
	(cd "$dir" && go test -v "$@" 2>&1 </dev/null) | tee "$tmp/log" | awk '
		{ out = out "\t" $0 "\n" }
		/: the goal is |of [0-9]+ .*within|^ +.*counting read at most/ { sub(/.*_test\.go:[0-9]+: /, "\t"); goals = goals "\t" $0 "\n" }
		/^(ok  |\?   |FAIL)\t/ { if ($1 == "FAIL") printf "%s", out; else printf "\t%s\n%s", $0, goals; out = goals = "" }
		END { printf "%s", out }'
	local status=${PIPESTATUS[0]}
	count() { grep -c -- "$1" "$tmp/log"; }
	passed=$((passed + $(count '^--- PASS'))) skipped=$((skipped + $(count '^ *--- SKIP')))
	if [ "$status" != 0 ]; then
		# tests, and packages that did not build or ended otherwise
		failures="$failures$(sed -n 's/^--- FAIL: \([^ ]*\).*/	\1/p; s/^FAIL\(	.*\)/\1/p' "$tmp/log")"$'\n'
		local n=$(($(count '^--- FAIL') + $(count ' failed\]$')))
		failed=$((failed + (n > 0 ? n : 1)))
	fi
	# why tests were skipped, each reason once
	awk '/^=== / { test = $3 }
		match($0, /^ +[a-z_0-9]+\.go:[0-9]+: /) { reason[test] = substr($0, RLENGTH + 1) }
		/^ *--- SKIP: / { print reason[$3] }' "$tmp/log" | sort | uniq -c |
		sed 's/^ *\([0-9]*\) /	skipped, \1 times: /'
}

# An example is run as a newcomer would, without arguments.
example() { "$tmp/$1" >"$tmp/report" && [ -s "$tmp/report" ]; }

# fuzz PACKAGE TARGET. A target that ran out of its time while it was busy fails
# without an input (go.dev/issue/75804): that is no finding.
fuzz() {
	local n
	for n in 1 2; do
		go test -run='^$' -fuzz="^$2\$" -fuzztime="${seconds}s" -fuzzminimizetime=1s "$1" && return
		grep -q 'context deadline exceeded' "$tmp/out" || return 1
		grep -q 'Failing input' "$tmp/out" && return 1
	done
	return 1
}

echo "== Go: $(go version)" || exit 1
echo "== machine"
internal/testservers/install.sh cc mariadb mysql ${long:+chromium} 2>&1 | sed 's/^/	/'

echo "== source"
check gofmt unformatted
check vet go vet ./...
if [ -z "${CI-}" ] && ! go run $staticcheck -version >/dev/null 2>&1; then
	skip staticcheck "$staticcheck is neither in the module cache nor to be had"
else
	check staticcheck go run $staticcheck ./...
fi

echo "== tests"
race=-race
if internal/testservers/install.sh -n cc >/dev/null 2>&1; then
	export CGO_ENABLED=1
else
	race=
	skip "race detector" "it needs a C compiler"
fi
tests . $race -timeout 10m ./...
if [ -n "$long" ]; then
	# those that take minutes, without the detector, which would make hours of them;
	# -count=1 because go test goes over all files that a cached test has opened
	export QUERN_LONG=1
	echo "== long tests"
	tests . -count=1 -timeout 60m $(grep -rl --include='*_test.go' QUERN_LONG . | grep -v -f <(find . -mindepth 2 -name go.mod -printf '^%h/\n') | xargs -n1 dirname | sort -u)
fi

echo "== examples"
for dir in examples/*/; do
	name=$(basename "$dir")
	[ -e "$dir/main.go" ] && [ ! -e "$dir/go.mod" ] || continue
	check "build examples/$name" go build -o "$tmp/$name" "./examples/$name"
	case $name in
	topqueries | goals) check "run examples/$name" example "$name" ;;
	esac
done

if [ "$seconds" -gt 0 ]; then
	echo "== fuzzing, $seconds s per target"
	for dir in $(go list -f '{{.Dir}}' ./...); do
		grep -qs '^func Fuzz' "$dir"/*_test.go || continue
		for target in $(go test -list '^Fuzz' "$dir" | grep '^Fuzz'); do
			check "fuzz ${dir#"$PWD/"} $target" fuzz "$dir" "$target"
		done
	done
fi

if [ -n "$long" ]; then
	for mod in $(find . -mindepth 2 -name go.mod -not -path '*/testdata/*' | sort); do
		dir=$(dirname "$mod")
		echo "== nested module $dir"
		check "vet $dir" go -C "$dir" vet ./...
		tests "$dir" -timeout 60m ./...
	done
fi

echo
[ -z "$failures" ] || printf 'failed:\n%s' "$failures"
echo "$passed passed, $failed failed, $skipped skipped in $((SECONDS / 60)) min $((SECONDS % 60)) s"
[ "$failed" = 0 ]
