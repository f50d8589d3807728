#!/bin/sh
# Installs what the tests run on, on Debian:
#
#	cc       a C compiler, which the race detector needs; needs root
#	mariadb  this release's package; needs root
#	mysql    Debian sid's package with the libraries it loads, unpacked below
#	         $QUERN_MYSQL_HOME (default ~/.cache/quern/mysql), by apt-get from
#	         the mirror that this machine uses; nothing of sid is installed
#	chromium this release's package, for the long tests of the reports' pages;
#	         needs root
#
# usage: install.sh [-n] [cc|mariadb|mysql|chromium]...
#
# Without an argument it is all but chromium.
#
# What is there already is left alone; with -n nothing is installed. Ends 1 when
# one is missing.
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/local/sbin:/usr/sbin
home=${QUERN_MYSQL_HOME:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/quern/mysql}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

fail() { # NAME REASON: what went wrong, with the end of the failed command's output
	echo "$1: not installed: $2" >&2
	[ ! -s "$tmp/log" ] || tail -n 5 "$tmp/log" | sed 's/^/	/' >&2
	return 1
}

# apt_install NAME PACKAGE...: a machine without package lists gets them first.
apt_install() {
	name=$1
	shift
	[ -z "$dry" ] || { fail "$name" "-n was given"; return; }
	command -v apt-get >/dev/null || { fail "$name" "no apt-get here; install what Debian calls $*"; return; }
	[ "$(id -u)" = 0 ] || { fail "$name" "not root; run: apt-get install $*"; return; }
	for attempt in 1 2; do
		apt-get -q -y --no-install-recommends install "$@" >"$tmp/log" 2>&1 </dev/null && return
		[ $attempt = 2 ] || apt-get -q update >"$tmp/log" 2>&1 || break
	done
	fail "$name" "apt-get could not install $*"
}

cc() {
	if ! command -v gcc >/dev/null && ! command -v clang >/dev/null; then
		apt_install "C compiler" gcc libc6-dev || return
	fi
	echo "C compiler: $( (gcc --version || clang --version) 2>/dev/null | head -n 1)"
}

mariadb() {
	if [ -n "${QUERN_TEST_MARIADB_DSN-}" ]; then
		echo "MariaDB: given by QUERN_TEST_MARIADB_DSN"
		return
	fi
	if ! command -v mariadbd >/dev/null || ! command -v mariadb-install-db >/dev/null; then
		# The package may not start a server of its own.
		if [ "$(id -u)" = 0 ] && [ ! -e /usr/sbin/policy-rc.d ]; then
			printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
			chmod 755 /usr/sbin/policy-rc.d
			trap 'rm -rf "$tmp" /usr/sbin/policy-rc.d' EXIT
		fi
		apt_install MariaDB mariadb-server || return
	fi
	echo "MariaDB: $(mariadbd --no-defaults --version)"
}

# sid COMMAND...: apt with lists, packages and a state of its own, that knows sid
# and nothing installed.
sid() {
	"$@" -q -o Dir::Etc::sourcelist="$tmp/sid.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferences=- -o Dir::Etc::preferencesparts=- \
		-o Dir::State="$tmp/state" -o Dir::State::status="$tmp/status" \
		-o Dir::Cache="$tmp/cache" -o APT::Sandbox::User= -o Acquire::Languages=none \
		-o APT::Update::Error-Mode=any >"$tmp/log" 2>&1
}

mysql() {
	if [ -n "${QUERN_TEST_MYSQL_DSN-}" ]; then
		echo "MySQL: given by QUERN_TEST_MYSQL_DSN"
		return
	fi
	for mysqld in "$home/bin/mysqld" "$(command -v mysqld)"; do
		# MariaDB's packages install a mysqld too.
		if version=$("$mysqld" --no-defaults --version 2>/dev/null) && ! echo "$version" | grep -q MariaDB; then
			echo "MySQL: $version"
			return
		fi
	done
	[ -z "$dry" ] || { fail MySQL "-n was given"; return; }
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
		{ fail MySQL "no apt-get here; install MySQL 8.0 or newer, so that mysqld is on PATH"; return; }
	release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk -v r="$release" '$1 == r { print $2; exit }')
	[ -n "$mirror" ] || { fail MySQL "no Debian mirror in this machine's apt sources"; return; }
	mkdir -p "$tmp/state/lists/partial" "$tmp/cache/archives/partial" "$tmp/root" "$home"
	: >"$tmp/status"
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -r $key ] && key="[signed-by=$key]" || key=
	echo "deb $key $mirror sid main" >"$tmp/sid.list"
	sid apt-get update || { fail MySQL "sid's package lists could not be fetched"; return; }
	sid apt-get -y --no-install-recommends --download-only install mysql-server-core ||
		{ fail MySQL "sid's mysql-server-core could not be fetched"; return; }
	for deb in "$tmp"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$tmp/root" 2>"$tmp/log" || { fail MySQL "cannot unpack ${deb##*/}"; return; }
	done

	# sid's libc is newer than this release's: mysqld runs on the loader and the
	# libraries that came with it.
	loader=$(find "$tmp/root" -name 'ld-linux*.so.*' -type f | head -n 1)
	lib=$(dirname "$(find "$tmp/root" -name libc.so.6 | head -n 1)")
	mysqld=$tmp/root/usr/sbin/mysqld
	rm -rf "$home"
	mkdir -p "$home/bin" "$home/lib" || { fail MySQL "cannot make $home"; return; }
	"$loader" --inhibit-cache --library-path "$lib" --list "$mysqld" | awk '$2 == "=>" { print $3 }' >"$tmp/libs" &&
		xargs cp -L -t "$home/lib" <"$tmp/libs" && cp "$loader" "$home/lib/loader" &&
		cp -R "$tmp/root/usr/lib/mysql/plugin" "$home/lib/plugin" &&
		cp -R "$tmp/root/usr/share/mysql" "$home/share" && cp "$mysqld" "$home/lib/mysqld" ||
		{ fail MySQL "its files are not where they were expected"; return; }
	cat >"$tmp/mysqld" <<-'END'
		#!/bin/sh
		# Runs mysqld on the loader and the libraries it came with.
		home=$(dirname "$(dirname "$(readlink -f "$0")")")
		exec "$home/lib/loader" --inhibit-cache --library-path "$home/lib" "$home/lib/mysqld" "$@" \
			--basedir="$home" --lc-messages-dir="$home/share" --character-sets-dir="$home/share/charsets" --plugin-dir="$home/lib/plugin"
	END
	chmod 755 "$tmp/mysqld"
	mv "$tmp/mysqld" "$home/bin/mysqld" # last: its presence says that all is there
	"$home/bin/mysqld" --no-defaults --version >"$tmp/log" 2>&1 || { fail MySQL "sid's mysqld does not run on this machine"; rm -rf "$home"; return 1; }
	echo "MySQL: $(cat "$tmp/log")"
}

browser() {
	for program in chromium chromium-browser google-chrome; do
		if command -v $program >/dev/null; then
			echo "Chromium: $($program --version 2>/dev/null)"
			return
		fi
	done
	apt_install Chromium chromium fonts-dejavu-core || return
	echo "Chromium: $(chromium --version)"
}

dry=
if [ "${1-}" = -n ]; then
	dry=1
	shift
fi
[ $# -gt 0 ] || set -- cc mariadb mysql
status=0
for what; do
	: >"$tmp/log"
	case $what in
	cc | mariadb | mysql) "$what" || status=1 ;;
	chromium) browser || status=1 ;;
	*) echo "usage: install.sh [-n] [cc|mariadb|mysql|chromium]..." >&2; exit 2 ;;
	esac
done
exit $status
