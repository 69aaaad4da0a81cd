# Root folders of other releases of Debian, for their Pythons: functions for .ci/pythons and .ci/in_debian.
#
# A root folder is made once (1 GB, some minutes) and kept; remove it to renew it. The mirror is apt's own.
#
# TOOLCHAINS: the folder that keeps the roots (default ~/.cache/tilecore-ci).
kept="${TOOLCHAINS:-$HOME/.cache/tilecore-ci}/pythons"

# why no root folder can be used on this machine; nothing where one can
why_no_roots() {
    if ! [ "$(id -u)" = 0 ] || ! grep -qs '^ID=debian' /etc/os-release; then
        echo "other Pythons are installed from Debian's packages, by root on Debian"
    elif ! unshare --mount --pid --fork true 2>/dev/null; then
        echo "this root may make no namespaces to run them in"
    fi
}

make_root() {
    local suite=$1 root=$2 mirror
    mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' | sed -n 's/^Debian //p' | sed -n 1p)
    [ -n "$mirror" ] || { echo "apt knows no mirror of Debian"; return 1; }
    if ! command -v mmdebstrap >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap || return 1
    fi
    rm -rf --one-file-system "$root"
    # a mirror may be a snapshot: its signature is checked, the day until which it was meant is not
    mmdebstrap --mode=root --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
        --include=python3,python3-venv,python3-dev,g++,libc6-dev,git,ca-certificates "$suite" "$root" "$mirror" &&
        touch "$root/is-complete"
}

# inside ROOT FOLDER COMMAND...: a command with another root folder, with pip's cache at /pip, and with FOLDER (unless
# it is empty) at its own path
inside() {
    local root=$1 folder=$2
    shift 2
    local settings=(PATH=/venv/bin:/usr/bin:/bin HOME=/root LANG=C.UTF-8 PIP_CACHE_DIR=/pip
        PIP_CERT=/etc/ssl/certs/ca-certificates.crt
        PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore)
    local index
    index=$(python3 -m pip config get global.index-url 2>/dev/null || true)
    [ -z "$index" ] || settings+=("PIP_INDEX_URL=$index")
    unshare --mount --pid --fork bash -euc '
        root=$1; pip=$2; folder=$3; shift 3
        mount --make-rprivate /
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mkdir -p "$root/pip" && mount --bind "$pip" "$root/pip"
        if [ -n "$folder" ]; then mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder"; fi
        exec chroot "$root" env -i "$@"' inside "$root" "$kept/pip" "$folder" "${settings[@]}" "$@"
}

# what a command inside needs of this machine to reach an index
connect_root() {
    cp /etc/resolv.conf /etc/hosts "$1/etc/" &&
        cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
}
