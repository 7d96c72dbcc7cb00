#!/bin/sh
# debian.sh PACKAGE UPGRADE VERSION PORT: installs, starts, upgrades and purges a package in a copy of the machine's files.
# debian.sh can: whether there can be such a copy. In a mount namespace of its own, as root.
set -eu
top=$(mktemp -d)
mount -t tmpfs tmpfs "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" "$top/root"
mount -t proc proc "$top/root/proc"
mount --rbind /dev "$top/root/dev"
[ "$1" != can ] || exec chroot "$top/root" dpkg --version
cp "$1" "$top/root/tmp/first.deb"
cp "$2" "$top/root/tmp/second.deb"
exec chroot "$top/root" sh -eu -s "$3" "$4" <<'INSIDE'
version=$1 port=$2
fail() { echo "deb: $*" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# No systemd runs here.
rm -rf /run/systemd/system /usr/local/bin/omr
mkdir -p /run

dpkg --install /tmp/first.deb > /dev/null
[ "$(omr --version)" = "omr $version" ] || fail "expected omr $version, found $(omr --version)"
[ -s /usr/share/man/man1/omr-serve.1.gz ] || [ -e /etc/dpkg/dpkg.cfg.d/docker ] || fail "expected the manual, found none"
if command -v systemd-analyze > /dev/null; then
    for unit in /usr/lib/systemd/system/omr*.service; do
        found=$(systemd-analyze verify "$unit" 2>&1 | grep -F "${unit##*/}" || true)
        [ -z "$found" ] || fail "$found"
    done
else
    echo "SKIP units: no systemd-analyze"
fi

# As the unit starts it, at another port and with the page.
sed -i -e "s/0\.0\.0\.0:7600/127.0.0.1:$port/" -e 's/^# \[page\]/[page]/' -e 's/^# mail = /mail = /' \
    -e '/^metrics = /d' /etc/omr/omr.toml
serve() {
    install -d -m 0700 /var/lib/omr
    omr serve --config /etc/omr/omr.toml > /tmp/serve.log 2>&1 &
    server=$!
    for _ in $(seq 100); do
        omr health "http://127.0.0.1:$port" > /dev/null 2>&1 && return
        sleep 0.1
    done
    cat /tmp/serve.log
    fail "expected a healthy server within 10 s, found none"
}
stop() {
    kill "$server"
    wait "$server" || fail "expected a clean end, found status $?"
}
serve
node -e "fetch('http://127.0.0.1:$port/mail/').then(async (page) => {
    process.exitCode = page.ok && (await page.text()).includes('<title>') ? 0 : 1;
})" || fail "expected the page for letters at /mail/"
stop
[ -s /var/lib/omr/meta.redb ] || fail "expected a board in /var/lib/omr, found $(ls /var/lib/omr)"

dpkg --install /tmp/second.deb > /dev/null
[ "$(dpkg-query --show --showformat '${Version}' omr)" = "$version+upgrade" ] || fail "expected an upgrade"
grep -q "127.0.0.1:$port" /etc/omr/omr.toml || fail "expected the changed configuration, found another"
serve
stop

dpkg --purge omr > /dev/null
for gone in /usr/bin/omr /etc/omr /usr/lib/systemd/system/omr.service /usr/share/omr; do
    [ ! -e "$gone" ] || fail "expected that $gone is gone"
done
[ -s /var/lib/omr/meta.redb ] || fail "expected the board after a purge, found $(ls /var/lib/omr)"
INSIDE
