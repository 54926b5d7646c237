#!/bin/sh
# hwcrypt-probe: what this machine has for cryptography, as one text for `hwcrypt doctor`.
#
#   sh hwcrypt-probe.sh > router.txt             below a minute, with timings
#   sh hwcrypt-probe.sh --quick > router.txt     some seconds, without
#   ssh root@router 'sh -s' < hwcrypt-probe.sh > router.txt
#
# It runs in any POSIX shell, as any user, with the programs that are there (sed, grep and cat must be). Root sees more: the kernel's
# log, device-mapper tables, LUKS headers. It writes no file, sets nothing and loads nothing; only the timings may make the kernel load a module
# of its own for AF_ALG, as any program that uses it does.
#
# What never gets into the text: MAC and IP addresses, host names, user names, serial numbers, UUIDs, volume labels and names, keys, salts,
# digests. LUKS headers and device-mapper tables pass through a list of what may stay; whatever comes from logs and programs has addresses, names
# and long hexadecimal numbers taken out. Read it before you post it all the same: it is short and plain.

version=1
quick=
# Tests give a folder here that stands for /.
root=${HWCRYPT_PROBE_ROOT:-}
# Seconds after which no further timing is begun, the longest that a single command may take, and when all is given up.
limit=50
patience=6
last_call=57

LC_ALL=C
PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
export LC_ALL PATH
# An editor's or a user's own options must not change what the programs print.
unset GREP_OPTIONS POSIXLY_CORRECT OPENSSL_CONF OPENSSL_ENGINES

usage() {
  echo "Usage: sh hwcrypt-probe.sh [--quick] > FILE"
  echo "Prints what this machine has for cryptography, for hwcrypt doctor. --quick leaves the timings out."
}

have() { command -v "$1" > /dev/null 2>&1; }

# --- what may not get out --------------------------------------------------------------------------------------------

hex='[0-9A-Fa-f]'

# The whole text passes through these.
always="s/$hex\{8\}-$hex\{4\}-$hex\{4\}-$hex\{4\}-$hex\{12\}/[uuid]/g
s/\(^\|[^0-9A-Za-z]\)$hex\{2\}\([.:-]$hex\{2\}\)\{5,\}/\1[address]/g
s/\(^\|[^0-9A-Za-z]\)$hex\{4\}\.$hex\{4\}\.$hex\{4\}/\1[address]/g
s/\(^\|[^0-9A-Za-z]\)$hex\{6\}[:-]$hex\{6\}/\1[address]/g
s/$hex\{24,\}/[hex]/g
s/[Ss][Ee][Rr][Ii][Aa][Ll][ _-]*\([Nn][A-Za-z]*\)\{0,1\}[ 	]*[:=#][ 	]*[^ ,;]*/serial [removed]/g
s/[Ss][Ee][Rr][Ii][Aa][Ll]\([ _-][Nn][A-Za-z]*\)\{0,1\}[ 	]\{1,\}\(is[ 	]\{1,\}\)\{0,1\}[^ ,;]*[0-9][^ ,;]*/serial [removed]/g
s/\(^\|[^0-9A-Za-z]\)[Ss][Nn][:=#][ 	]*[^ ,;]*/\1serial [removed]/g
s,/home/[^/ ]*,/home/[user],g"

# Up to its end: a program that hangs may keep the pipe open.
scrub() { sed -e "$always" -e '/^\[\[end\]\]$/q' -e '/^hwcrypt-probe: given up after/q'; }

# Words that a secret or a name follows: after `=` or `:`, or after `=` alone where logs have the word with `:` too.
tells='[Pp][Aa][Ss][Ss]\([Ww][A-Za-z]*\|[Pp][Hh][Rr][Aa][Ss][Ee]\)\{0,1\}\|[Pp][Ss][Kk]\|[Ss][Ee][Cc][Rr][Ee][Tt]\|[Tt][Oo][Kk][Ee][Nn]\|[Pp][Ii][Nn]'
tells_by='[Kk][Ee][Yy]\|[Uu][Ss][Ee][Rr]\([Nn][Aa][Mm][Ee]\)\{0,1\}\|[Ll][Oo][Gg][Ii][Nn]\|[Ll][Aa][Bb][Ee][Ll]'
value="\(\"[^\"]*\"\|'[^']*'\|[^ ,;]*\)"
names="s/\($tells\)[ 	]*[:=][ 	]*$value/\1=[removed]/g
s/\($tells_by\)[ 	]*=[ 	]*$value/\1=[removed]/g
s/\([Ss][Ss][Ii][Dd]\)[ 	:=]\{1,\}$value/\1 [removed]/g
s,\(/by-[a-z]*/\)[^ ;\"']*,\1[name],g
s,\(/dev/mapper/\)[^ ;\"']*,\1[name],g
s,\(/mnt/\|/media/\)[^ ;\"']*,\1[name],g
s/\([Cc]ryptography Setup for \).*/\1[name]/
s/\([Vv]olume \)[^ ]* already/\1[name] already/
/device-mapper: crypt: dm-[0-9]*: /!s/\(device-mapper: crypt: \)[^ (:]*: /\1[name]: /"

# Texts that people or networks can have put something into: logs, configuration, messages. Up to so many lines.
scrub_free() {
  # The long forms first: the short ones would leave parts of them.
  sed -e "$always" -e "$names" -e 's/[A-Za-z0-9_.+-]*@[A-Za-z0-9_.\\-]*[A-Za-z]/[name]/g' \
    -e "s/\(^\|[^0-9A-Za-z]\)$hex\{12\}\($\|[^0-9A-Za-z]\)/\1[address]\2/g" \
    -e 's/\(^\|[^0-9.]\)[0-9]\{1,3\}\.[0-9]\{1,3\}\.[0-9]\{1,3\}\.[0-9]\{1,3\}\($\|[^0-9.]\)/\1[address]\2/g' \
    -e "s/\($hex\{1,4\}:\)\{4,7\}$hex\{1,4\}/[address]/g" \
    -e "s/\($hex\{1,4\}:\)\{1,6\}\(:$hex\{1,4\}\)\{1,6\}/[address]/g" \
    -e 's/[Ss]\/[Nn][ 	:=]*[^ ,;]*/serial [removed]/g' \
    -e "$without_host" -e "${1:-400}q"
}

# The host's name in any case, and up to its first dot. Each twice, since two of a name may share the blank between them.
learn_host() {
  word "$root/proc/sys/kernel/hostname"
  host=${it:-$(uname -n)}
  without_host=
  for name in "$host" "${host%%.*}"; do
    case $name in '' | '(none)' | localhost) continue ;; esac
    pattern=
    # shellcheck disable=SC2018,SC2019 # busybox may lack classes
    lower=$(printf '%s' "$name" | tr 'A-Z' 'a-z')
    # shellcheck disable=SC2018,SC2019
    name=$(printf '%s' "$name" | tr 'a-z' 'A-Z')
    while [ -n "$name" ]; do
      rest=${name#?}
      letter=${name%"$rest"}
      case $letter in
        [A-Z]) letter="[$letter${lower%"${lower#?}"}]" ;;
        [!0-9_-]) letter=. ;;
      esac
      pattern=$pattern$letter
      name=$rest
      lower=${lower#?}
    done
    by="s/\(^\|[^A-Za-z0-9]\)$pattern\($\|[^A-Za-z0-9]\)/\1[host]\2/g"
    without_host="$without_host$by;$by;"
  done
}

# --- the form --------------------------------------------------------------------------------------------------------

# section NAME WHAT: a heading that a paste through mail or a forum does not change.
section() { printf '\n[[%s]] %s\n' "$1" "$2"; }

# No section may flood the rest.
few() { sed "${1:-400}q"; }

# What follows sets a variable instead of printing: starting a process is the dear thing on a router, and there are hundreds of files.

# word FILE: the first line of a small file into $it. The NULs of device trees are left out.
word() {
  it=
  [ ! -r "$1" ] || read -r it 2> /dev/null < "$1" || [ -n "$it" ]
}

# bound DEVICE: the name of its driver, or `none`, into $driver.
bound() {
  driver=none
  if cd -P "$1/driver" 2> /dev/null; then
    driver=${PWD##*/}
    cd /
  fi
}

# strings FILE: the strings of a device tree's property, with blanks between them
strings() {
  [ -r "$1" ] && it=$(tr '\000' ' ' < "$1" 2> /dev/null) && printf '%s\n' "${it% }"
}

# lines_of FILE…: from standard input, where grep has put the file's name before each line
lines_of() { sed "s,^$root\([^:]*\):[[:blank:]]*,\1: ,"; }

# end_tree PID SIGNAL [SPARED]: a process and whatever it started; without /proc the process alone.
end_tree() (
  children=
  for state in /proc/[0-9]*/stat; do
    read -r line 2> /dev/null < "$state" || continue
    child=${line%% *}
    # The name in brackets may hold anything.
    line=${line##*) }
    line=${line#* }
    [ "${line%% *}" != "$1" ] || [ "$child" = "${3:-}" ] || children="$children $child"
  done
  # First the parent: a shell whose program is ended says so.
  kill "-$2" "$1" 2> /dev/null
  for child in $children; do end_tree "$child" "$2"; done
)

# run SECONDS COMMAND…: ends the command when it takes too long, and what it started.
run() {
  seconds=$1
  shift
  "$@" 2>&1 &
  pid=$!
  (
    trap 'kill "$nap" 2> /dev/null; exit' TERM
    sleep "$seconds" &
    nap=$!
    wait "$nap" || exit
    # Once begun it goes through: when the parent is gone, what it started is not.
    trap '' TERM
    end_tree "$pid" TERM
    sleep 1
    end_tree "$pid" KILL
  ) > /dev/null 2>&1 &
  guard=$!
  wait "$pid" 2> /dev/null
  status=$?
  kill "$guard" 2> /dev/null
  wait "$guard" 2> /dev/null
  [ "$status" -lt 128 ] || echo "hwcrypt-probe: ended after $seconds s"
  return 0
}

# ask COMMAND…: what it prints, into $it; a command that has hung is not asked again, nor a program that hung on its own version.
hung=' '
ask() {
  case $hung in
    *" $1:$2 "* | *" $1:version "* | *" $1:--version "*)
      it="hwcrypt-probe: left out, $1 has hung before"
      return 0
      ;;
  esac
  it=$(run "$patience" "$@")
  case $it in *'hwcrypt-probe: ended after '*) hung="$hung$1:$2 " ;; esac
}

now() { date +%s 2> /dev/null || echo 0; }

# --- what is there ---------------------------------------------------------------------------------------------------

crypto_words='crypt|af_alg|algif|aes|des3|sha1|sha256|sha512|ghash|eip|safexcel|cesa|caam|sahara|dcp|ccree|qat_|_qat|nitrox|talitos|omap-|sa2ul|qce|ccp|tls|xts|cesa|sun4i|sun8i|ss_aes|rk_|spacc|hifn|geode|n2_|zynqmp|chacha|poly1305|hctr2|adiantum|dm_crypt|dm-crypt|esp4|esp6|xfrm|wireguard|hwrng'

kernel() {
  section kernel 'uname -s -r -m'
  uname -s -r -m
  section kernel-version 'uname -v'
  uname -v | scrub_free
  section cmdline 'the words of /proc/cmdline that concern modules and crypto'
  word "$root/proc/cmdline"
  set -f
  # shellcheck disable=SC2086 # word by word
  set -- $it
  set +f
  for argument; do
    case $argument in
      module_blacklist* | modprobe.blacklist* | initcall_blacklist* | fips* | cryptomgr.* | af_alg* | crypto*) printf '%s\n' "$argument" ;;
    esac
  done | scrub_free
  section distribution '/etc/os-release, /etc/openwrt_release'
  cat "$root/etc/os-release" "$root/etc/openwrt_release" 2> /dev/null |
    grep -E '^(NAME|ID|ID_LIKE|VERSION|VERSION_ID|PRETTY_NAME|BUILD_ID|DISTRIB_[A-Z]*|OPENWRT_(BOARD|ARCH))='
  section config '/proc/config.gz or /boot/config-RELEASE: what concerns crypto'
  if [ -r "$root/proc/config.gz" ] && have zcat; then
    zcat < "$root/proc/config.gz" 2> /dev/null
  elif [ -r "$root/boot/config-$release" ]; then
    cat "$root/boot/config-$release"
  fi | grep -E 'CONFIG_(CRYPTO|DM_CRYPT|BLK_DEV_DM|ARM.*_CRYPTO|CRYPTODEV|FW_LOADER=|MODULES|TLS)' | few 700
}

# Up to where a name comes for the second time: lines of the first CPU.
first_cpu() {
  seen=
  while read -r line; do
    key=${line%%:*}
    case "$seen" in *"|$key|"*) break ;; esac
    seen="$seen|$key|"
    printf '%s\n' "$line"
  done
}

machine() {
  section model 'device tree, DMI'
  for file in proc/device-tree/model sys/class/dmi/id/board_vendor sys/class/dmi/id/board_name; do
    word "$root/$file" && [ -n "$it" ] && printf '%s\n' "$it"
  done | scrub_free
  strings "$root/proc/device-tree/compatible" | scrub_free
  section cpuinfo '/proc/cpuinfo, the first CPU'
  grep -iE '^(system type|machine|model name|cpu model|cpu|hardware|flags|features|isa|ases implemented|vendor_id|cpu implementer|cpu part|cpu architecture|bogomips)[[:blank:]]*:' \
    "$root/proc/cpuinfo" 2> /dev/null | first_cpu
  printf 'processors\t: '
  grep -c '^processor' "$root/proc/cpuinfo" 2> /dev/null || echo
  section memory '/proc/meminfo, /proc/loadavg'
  grep -E '^(MemTotal|MemFree|MemAvailable|SwapTotal):' "$root/proc/meminfo" 2> /dev/null
  word "$root/proc/loadavg"
  # shellcheck disable=SC2086 # word by word
  set -- $it
  [ "$#" -lt 3 ] || printf 'loadavg: %s %s %s\n' "$1" "$2" "$3"
}

modules() {
  if [ -r "$root/proc/modules" ]; then
    section modules '/proc/modules, without addresses'
    sed -e 's/ 0x[0-9a-fA-F]*//' -e 600q "$root/proc/modules" 2> /dev/null
  fi
  folder=$root/lib/modules/$release
  section module-files "crypto modules in /lib/modules/$release"
  if [ -r "$folder/modules.dep" ]; then
    sed -n 's/^\([^:]*\.ko[a-z.]*\):.*/\1/p' "$folder/modules.dep"
  else
    for file in "$folder"/*.ko*; do [ -e "$file" ] && printf '%s\n' "${file##*/}"; done
  fi 2> /dev/null | grep -E "$crypto_words" | few 600
  section modules-builtin "crypto modules in /lib/modules/$release/modules.builtin"
  [ ! -r "$folder/modules.builtin" ] || grep -E "$crypto_words" "$folder/modules.builtin" | few 300
  # /dev/null is a second file, so that grep puts names before the lines.
  section modprobe 'lines of modprobe.d that keep something from being loaded'
  grep -E "^[[:blank:]]*(install|blacklist)[[:blank:]].*($crypto_words)" /dev/null "$root"/etc/modprobe.d/*.conf "$root"/run/modprobe.d/*.conf \
    "$root"/usr/local/lib/modprobe.d/*.conf "$root"/usr/lib/modprobe.d/*.conf "$root"/lib/modprobe.d/*.conf 2> /dev/null | lines_of | scrub_free
  section modules-load 'modules that are loaded at start'
  grep -E "^[[:blank:]]*[^#[:blank:]].*($crypto_words)|^($crypto_words)" /dev/null "$root"/etc/modules "$root"/etc/modules.d/* \
    "$root"/etc/modules-load.d/* 2> /dev/null | lines_of | scrub_free 200
}

devices() {
  section device-tree 'nodes of crypto engines'
  if [ -d "$root/proc/device-tree/" ] && have find; then
    find "$root/proc/device-tree/" -type d 2> /dev/null |
      grep -iE '/[^/]*(crypt|eip|aes|cesa|caam|sahara|[@,-]sec[@0-9]|jr@|dcp|des@|sham@|sha@|qce|rng@|safexcel)[^/]*$' | few 60 |
      while read -r node; do
        word "$node/status"
        printf '%s compatible=%s status=%s\n' "${node##*/}" "$(strings "$node/compatible")" "$it"
      done
  fi
  section platform 'platform devices of crypto engines, and who drives them'
  for device in "$root"/sys/bus/platform/devices/*; do
    word "$device/of_node/compatible"
    case "${device##*/} $it" in
      *crypt* | *eip9* | *eip1* | *cesa* | *caam* | *sec-v* | *safexcel* | *sahara* | *-dcp* | *-aes* | *.aes* | *qce* | *ccree* | *hisi*sec* | *-sha* | *.jr*)
        bound "$device"
        printf '%s compatible=%s driver=%s\n' "${device##*/}" "$(strings "$device/of_node/compatible")" "$driver"
        ;;
    esac
  done
  section pci 'vendor:device class driver'
  number=0
  for device in "$root"/sys/bus/pci/devices/*; do
    [ -r "$device/vendor" ] || continue
    number=$((number + 1))
    [ "$number" -le 200 ] || break
    bound "$device"
    word "$device/vendor"
    printf '%s %s' "${device##*/}" "$it"
    word "$device/device"
    printf ':%s' "$it"
    word "$device/class"
    printf ' class %s driver=%s\n' "$it" "$driver"
  done
  section virtio 'virtio devices; 0x0014 is virtio-crypto'
  for device in "$root"/sys/bus/virtio/devices/*; do
    [ -r "$device/device" ] || continue
    bound "$device"
    word "$device/device"
    printf '%s device=%s driver=%s\n' "${device##*/}" "$it" "$driver"
  done
  section drivers 'drivers of crypto engines, and the devices bound to them'
  for driver in "$root"/sys/bus/*/drivers/*; do
    case ${driver##*/} in
      *crypt* | *eip* | *cesa* | *caam* | *safexcel* | *sahara* | *dcp* | *qat* | *c6xx* | *c3xxx* | *dh895* | *4xxx* | *ccree* | *qce* | *aes* | *hisi_sec* | *talitos* | *ccp*)
        printf '%s:' "${driver#"$root"/sys/bus/}"
        for device in "$driver"/*; do [ -d "$device/driver/" ] && printf ' %s' "${device##*/}"; done
        echo
        ;;
    esac
  done
  section dev-crypto 'ls -ln /dev/crypto'
  # shellcheck disable=SC2012 # there is nothing else that shows modes everywhere
  ls -ln "$root/dev/crypto" 2>&1 | sed "s,$root/dev,/dev,g"
  [ -r "$root/dev/crypto" ] && [ -w "$root/dev/crypto" ] && echo 'this user can open it'
  section hwrng '/sys/class/misc/hw_random'
  for file in rng_available rng_current; do
    word "$root/sys/class/misc/hw_random/$file" && [ -n "$it" ] && printf '%s: %s\n' "$file" "$it"
  done
}

af_alg() {
  section af-alg '/proc/net/protocols, /proc/sys/crypto, /proc/self/status'
  if [ -r "$root/proc/net/protocols" ]; then
    grep -E '^(protocol|ALG)[[:blank:]]' "$root/proc/net/protocols"
  else
    echo 'protocols: cannot be read'
  fi
  for file in "$root"/proc/sys/crypto/*; do
    [ -r "$file" ] || continue
    word "$file"
    printf '%s = %s\n' "${file##*/}" "$it"
  done
  grep -E '^(CapEff|Seccomp):' "$root/proc/self/status" 2> /dev/null
  sed 's/^/uid_map: /' "$root/proc/self/uid_map" 2> /dev/null
  printf 'uid: '
  id -u 2> /dev/null || echo
}

# --- OpenSSL ---------------------------------------------------------------------------------------------------------

cnf_words='^[[:blank:]]*(\[ *[a-z_]*(openssl|engine|provider|default|init|devcrypto|afalg|cryptodev|qat)[a-z_]* *\]|openssl_conf|engines|providers|engine_id|dynamic_path|default_algorithms|soft_load|CIPHERS|DIGESTS|USE_SOFTDRIVERS|init|activate|module|[a-z_]*(devcrypto|afalg|cryptodev|padlock|qat)[a-z_]*)'

# The folder that `openssl version -a` names, into $it.
named_folder() {
  it=
  case $openssl_version in *"$1: \""*) it=${openssl_version#*"$1: \""} && it=${it%%\"*} ;; esac
}

openssl_facts() {
  section openssl 'openssl version -a'
  ask openssl version -a
  openssl_version=$it
  printf '%s\n' "$openssl_version" | grep -E '^(OpenSSL|LibreSSL|built|platform|options|compiler|OPENSSLDIR|ENGINESDIR|MODULESDIR|CPUINFO|hwcrypt-probe)' | scrub_free
  section openssl-engines 'openssl engine -t -c'
  ask openssl engine -t -c
  printf '%s\n' "$it" | scrub_free 60
  section openssl-engine-files 'libraries of engines'
  named_folder ENGINESDIR
  for file in "$it"/*.so /usr/lib/engines*/*.so; do [ -e "$file" ] && printf '%s\n' "$file"; done | scrub_free
  section openssl-providers 'openssl list -providers -verbose'
  ask openssl list -providers -verbose
  printf '%s\n' "$it" | scrub_free 60
  section openssl-config 'openssl.cnf and engines.cnf.d: engines and providers'
  named_folder OPENSSLDIR
  grep -E "$cnf_words" /dev/null "$it/openssl.cnf" "$root"/etc/ssl/engines.cnf.d/* "$root"/etc/ssl/modules.cnf.d/* "$root"/var/etc/ssl/*.cnf 2> /dev/null |
    lines_of | scrub_free 120
  if have uci; then
    section openssl-uci 'uci show openssl'
    run "$patience" uci -q show openssl | scrub_free 60
  fi
  for engine in devcrypto afalg; do
    section openssl-dump "openssl engine -pre DUMP_INFO $engine"
    ask openssl engine -pre DUMP_INFO "$engine"
    printf '%s\n' "$it" | scrub_free 80
  done
}

packages() {
  section packages 'installed packages of the way to the hardware'
  if have opkg; then
    run "$patience" opkg list-installed
  elif have apk; then
    run "$patience" apk list -I
  elif have dpkg-query; then
    run "$patience" dpkg-query -W
  fi | grep -E '^(kmod-(crypto|cryptodev|dm|fs-|tls)|lib(open)?ssl|openssl|cryptsetup|libcryptsetup|afalg|devcrypto|kernel|openvpn|strongswan|wireguard|mbedtls|libkcapi|linux-image|cryptodev|hwcrypt-probe)' |
    scrub_free 120
}

# --- disks -----------------------------------------------------------------------------------------------------------

# The key is replaced: a keyring's `:64:logon:…` keeps its length, a hexadecimal one keeps nothing. Names of mappings are the owner's.
table_without_keys() {
  sed -n -e 's/^\([^ ]*: \)\{0,1\}\([0-9]* [0-9]*\) crypt \([^ ]*\) :\([0-9]*\):[^ ]* \(.*\)$/\2 crypt \3 :\4:logon:[removed] \5/p' \
    -e 't' \
    -e 's/^\([^ ]*: \)\{0,1\}\([0-9]* [0-9]*\) crypt \([^ ]*\) [^ ]* \([0-9]* [0-9]*:[0-9]*\( .*\)\{0,1\}\)$/\2 crypt \3 [removed] \4/p'
}

luks_allowed='^(Version:|Cipher name:|Cipher mode:|Hash spec:|MK bits:|Payload offset:|Flags:|Requirements:|Data segments:|Keyslots:|Key Slot|  [0-9]+: (crypt|luks2|reencrypt|linear|hw-opal|hw-opal-crypt)|[[:blank:]]+(offset|length|cipher|sector|integrity|flags|Key|Priority|Cipher|Cipher key|PBKDF|Time cost|Memory|Threads|AF hash|AF stripes|Iterations):)'

disks() {
  section cryptsetup 'cryptsetup --version'
  if have cryptsetup; then
    ask cryptsetup --version
    printf '%s\n' "$it" | scrub_free
  else
    echo 'cryptsetup: not found'
  fi
  section dm-crypt 'dmsetup table --target crypt, the keys and names removed'
  if have dmsetup; then
    ask dmsetup table --target crypt
    tables=$it
    case $tables in
      *' crypt '*) printf '%s\n' "$tables" | table_without_keys ;;
      *) echo "${tables:-none}" | grep -iE '^no|denied|none|failure|not|hwcrypt-probe' | scrub_free 5 ;;
    esac
  else
    echo 'dmsetup: not found'
  fi
  section block '/sys/block, /sys/class/block: MAJ:MIN, logical and physical sector, rotational, size in 512 bytes; of partitions MAJ:MIN'
  for device in "$root"/sys/block/*; do
    case ${device##*/} in ram* | loop* | zram* | fd* | sr*) continue ;; esac
    [ -r "$device/queue/logical_block_size" ] || continue
    printf '%s' "${device##*/}"
    for fact in logical=queue/logical_block_size physical=queue/physical_block_size rotational=queue/rotational sectors=size dev=dev; do
      word "$device/${fact#*=}"
      printf ' %s=%s' "${fact%%=*}" "$it"
    done
    echo
  done
  number=0
  for device in "$root"/sys/class/block/*; do
    [ ! -r "$device/queue/logical_block_size" ] || continue
    case ${device##*/} in ram* | loop* | zram* | fd* | sr*) continue ;; esac
    word "$device/dev"
    [ -n "$it" ] || continue
    number=$((number + 1))
    [ "$number" -le 100 ] || break
    printf '%s dev=%s\n' "${device##*/}" "$it"
  done
  number=0
  while read -r _ _ _ name; do
    device=$root/dev/$name
    case $name in ram* | loop* | zram* | name | '') continue ;; esac
    [ -r "$device" ] || continue
    [ "$(dd if="$device" bs=4 count=1)" = LUKS ] || continue
    number=$((number + 1))
    [ "$number" -le 6 ] || break
    section luks "header of $name, without salts, digests, labels and UUIDs"
    if have cryptsetup; then
      ask cryptsetup luksDump "$device"
      printf '%s\n' "$it" | grep -E "$luks_allowed|^hwcrypt-probe" | grep -vi 'label'
    else
      # LUKS2 has its description as JSON; only words of this form are taken from it.
      dd if="$device" bs=4096 skip=1 count=3 2> /dev/null | tr '\000,{}' '[\n*]' |
        grep -E '^"(encryption|sector_size|type|time|memory|cpus|key_size)":("[a-z0-9:()-]*"|[0-9]*)$'
    fi
  done 2> /dev/null < "$root/proc/partitions"
}

kernel_log() {
  section log 'lines of the kernel log that name crypto'
  if [ -n "$root" ]; then cat "$root/kernel-log"; else run "$patience" dmesg; fi | grep -iE 'crypt|alg:|af_alg|algif|aes|eip[0-9]|safexcel|cesa|caam|sahara|qat|ccree|hw_random|talitos|qce|sa2ul|dm-crypt|luks|dmesg:|hwcrypt-probe:' |
    grep -viE 'command line|decrypted memory|fscrypt|key type' | scrub_free 120
}

# --- timings ---------------------------------------------------------------------------------------------------------

# Is there time for something that takes so many seconds?
time_for() {
  left=$((limit - ($(now) - started)))
  [ "$left" -ge "$1" ] && return 0
  echo "hwcrypt-probe: left out, it would take $1 s and $left s are left: $2"
  return 1
}

# speed NAME SETTING ARGUMENTS…: one run of openssl speed
speed() {
  name=$1
  conf=$2
  shift 2
  section "$name" "${conf:+OPENSSL_CONF=$conf }openssl speed $*"
  case $hung in
    *' openssl:version '* | *' openssl:speed '*)
      echo 'hwcrypt-probe: left out, openssl has hung before'
      return 0
      ;;
  esac
  time_for "$speed_takes" "openssl speed $*" || return 0
  if [ -n "$conf" ]; then
    OPENSSL_CONF=$conf run "$((speed_takes + 5))" openssl speed "$@"
  else
    run "$((speed_takes + 5))" openssl speed "$@"
  fi | scrub_free
}

timings() {
  section interrupts-before '/proc/interrupts'
  few 600 2> /dev/null < "$root/proc/interrupts"
  if have openssl; then
    # -seconds is there since 1.1.1; before, a size takes three seconds.
    seconds=
    speed_takes=16
    ask openssl speed -help
    case $it in
      *-seconds*)
        seconds='-seconds 1'
        speed_takes=7
        ;;
    esac
    ask openssl engine
    engines=$(printf '%s\n' "$it" | sed -n 's/^(\([a-z_]*\)).*/\1/p' | grep -vE '^(dynamic|rdrand|openssl|loader_attic|capi)$')
    # shellcheck disable=SC2086 # no quotes: none or two words
    speed speed-software /dev/null -elapsed $seconds -evp aes-128-cbc
    for engine in $engines devcrypto afalg; do
      case " ${tried:-} " in *" $engine "*) continue ;; esac
      tried="${tried:-} $engine"
      case $engine in
        devcrypto) [ -c "$root/dev/crypto" ] || continue ;;
        afalg) grep -q '^ALG ' "$root/proc/net/protocols" 2> /dev/null || continue ;;
      esac
      # shellcheck disable=SC2086
      speed speed-engine '' -elapsed $seconds -evp aes-128-cbc -engine "$engine"
      # shellcheck disable=SC2086
      speed speed-engine-user-time '' $seconds -evp aes-128-cbc -engine "$engine"
    done
    # shellcheck disable=SC2086
    [ -z "$engines" ] || speed speed-configured '' -elapsed $seconds -evp aes-128-cbc
    if [ -z "${tried:-}" ] || [ -n "$seconds" ]; then
      # shellcheck disable=SC2086
      speed speed-user-time '' $seconds -evp aes-128-cbc
    fi
  fi
  if have cryptsetup; then
    section benchmark 'cryptsetup benchmark'
    for cipher in 'aes-cbc 128' 'aes-cbc 256' 'aes-xts 256' 'aes-xts 512'; do
      # shellcheck disable=SC2086 # cipher and bits
      set -- $cipher
      case $hung in *' cryptsetup:--version '*) break ;; esac
      time_for 4 "cryptsetup benchmark -c $1 -s $2" && run 8 cryptsetup benchmark -c "$1" -s "$2" | scrub_free
    done
  fi
  section interrupts-after '/proc/interrupts'
  few 600 2> /dev/null < "$root/proc/interrupts"
}

main() {
  for argument in "$@"; do
    case $argument in
      --quick) quick=yes ;;
      --help | -h)
        usage
        return 0
        ;;
      *)
        echo "hwcrypt-probe: unknown argument (see --help)" >&2
        return 2
        ;;
    esac
  done
  for tool in sed grep cat tr; do
    # Without these nothing could be taken out.
    have "$tool" || {
      echo "hwcrypt-probe: $tool is needed and not there" >&2
      return 3
    }
  done
  {
    self=$(exec sh -c 'echo "$PPID"')
    (
      trap 'kill "$long_nap" 2> /dev/null; exit' TERM
      sleep "$last_call" > /dev/null &
      long_nap=$!
      wait "$long_nap" || exit
      end_tree "$self" KILL "$(exec sh -c 'echo "$PPID"')"
      printf '\nhwcrypt-probe: given up after %s s: the rest is missing\n' "$last_call"
    ) 2> /dev/null &
    guard_of_all=$!
    everything
    kill "$guard_of_all" 2> /dev/null
  } | scrub
}

everything() {
  started=$(now)
  release=$(uname -r)
  learn_host
  echo "hwcrypt-probe $version"
  echo '# What this machine has for cryptography, for hwcrypt doctor. Nothing was changed.'
  echo '# Taken out: MAC and IP addresses, host and user names, serial numbers, UUIDs, labels, keys, salts. Look it through all the same.'
  kernel
  machine
  section crypto '/proc/crypto'
  few 6000 2>&1 < "$root/proc/crypto"
  modules
  devices
  af_alg
  if have openssl; then openssl_facts; else section openssl 'openssl version -a' && echo 'openssl: not found'; fi
  packages
  disks
  kernel_log
  if [ -z "$quick" ]; then timings; fi
  printf '\n[[end]]\n'
}

# As a function, and with nothing to read: given to `sh -s` on standard input, a command would else eat the rest of the script.
main "$@" < /dev/null
