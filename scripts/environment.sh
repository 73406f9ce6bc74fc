# Sourced by the scripts beside it: `environment [EXTRAS]` makes the virtual environment `.venv` of this checkout, with
# mapper and those extras installed, puts it on the PATH and changes into the checkout. It is reused while it is up to
# date: same checkout, same setup.cfg. `PYTHON` chooses the interpreter that makes it.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv

say() {
    printf '%s\n' "mapper: $*" >&2
}

usable() {
    "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3.13 python3.12 python3.11 python3 python; do
        if usable "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    say "needs Python 3.11 or newer with its venv module (on Debian and Ubuntu: apt install python3-venv);" \
        "found $(python3 --version 2>/dev/null || echo none). PYTHON=/path/to/python3 $0 takes another one."
    return 1
}

# A virtual environment works only where it was made.
make_venv() {
    if "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        [ -f "$venv/.mapper-root" ] || return 0
        [ "$(cat "$venv/.mapper-root")" != "$root" ] || return 0
    fi
    python=$(find_python) || exit 1
    say "making the virtual environment .venv with $python"
    "$python" -m venv --clear "$venv"
    printf '%s\n' "$root" >"$venv/.mapper-root"
}

environment() {
    cd "$root"
    make_venv
    wanted=$(cksum <setup.cfg)
    stamp=$venv/.mapper-installed-${1:-base}
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        say "installing mapper${1:+ with $1} into .venv; once, it takes a minute"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".${1:+[$1]}"
        printf '%s\n' "$wanted" >"$stamp"
        printf '%s\n' "$wanted" >"$venv/.mapper-installed-base"
    fi
    PATH=$venv/bin:$PATH
    export PATH
}
