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
# Seconds after which no further timing is begun, and the longest that a single command may take.
limit=50
patience=20

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

# Everything passes through this one.
scrub() {
  sed -e "s/$hex\{8\}-$hex\{4\}-$hex\{4\}-$hex\{4\}-$hex\{12\}/[uuid]/g" \
    -e "s/\(^\|[^0-9A-Za-z]\)$hex\{2\}\([:-]$hex\{2\}\)\{5,\}/\1[address]/g" \
    -e "s/$hex\{24,\}/[hex]/g" \
    -e 's/[Ss][Ee][Rr][Ii][Aa][Ll][ _-]*\([Nn][A-Za-z]*\)\{0,1\}[ 	]*[:=#][ 	]*[^ ,;]*/serial [removed]/g' \
    -e 's,/home/[^/ ]*,/home/[user],g'
}

# Texts that people or networks can have put something into: logs, configuration, messages.
scrub_free() {
  scrub | sed -e 's/[A-Za-z0-9_.+-]*@[A-Za-z0-9_.-]*[A-Za-z]/[name]/g' \
    -e "s/\(^\|[^0-9A-Za-z]\)$hex\{12\}\($\|[^0-9A-Za-z]\)/\1[address]\2/g" \
    -e 's/\(^\|[^0-9.]\)[0-9]\{1,3\}\.[0-9]\{1,3\}\.[0-9]\{1,3\}\.[0-9]\{1,3\}\($\|[^0-9.]\)/\1[address]\2/g' \
    -e "s/\($hex\{1,4\}:\)\{4,7\}$hex\{1,4\}/[address]/g" \
    -e "s/$hex\{1,4\}:\(:$hex\{1,4\}\)\{1,6\}/[address]/g" \
    -e 's/[Ss]\/[Nn][ 	:=]*[^ ,;]*/serial [removed]/g' |
    without_name "$host" | without_name "${host%%.*}"
}

# Twice, since two of a name may share the blank between them.
without_name() {
  case $1 in
    '' | '(none)' | localhost) cat ;;
    *)
      name=$(printf '%s\n' "$1" | sed 's/[^A-Za-z0-9_-]/./g')
      by="s/\(^\|[^A-Za-z0-9]\)$name\($\|[^A-Za-z0-9]\)/\1[host]\2/g"
      sed -e "$by" -e "$by"
      ;;
  esac
}

# --- the form --------------------------------------------------------------------------------------------------------

# section NAME WHAT: a heading that a paste through mail or a forum does not change.
section() { printf '\n[[%s]] %s\n' "$1" "$2"; }

# No section may flood the rest.
few() { sed "${1:-400}q"; }

show_file() { # NAME FILE
  [ -r "$root$2" ] || return 0
  section "$1" "$2"
  scrub < "$root$2" 2> /dev/null | few 4000
}

# A link's last part.
last() { l=$(ls -l "$1" 2> /dev/null) && case $l in *' -> '*) l=${l##* -> } && printf '%s' "${l##*/}" ;; esac; }

word() { # the first line of a small file, without the NULs of device trees
  [ -r "$1" ] && tr '\000' ' ' < "$1" 2> /dev/null | sed -n '1s/ *$//p'
}

# run SECONDS COMMAND…: ends the command when it takes too long.
run() {
  seconds=$1
  shift
  "$@" 2>&1 &
  pid=$!
  (
    trap 'kill "$nap" 2> /dev/null; exit' TERM
    sleep "$seconds" &
    nap=$!
    wait "$nap" && kill "$pid" 2> /dev/null
  ) > /dev/null 2>&1 &
  guard=$!
  wait "$pid"
  status=$?
  kill "$guard" 2> /dev/null
  wait "$guard" 2> /dev/null
  [ "$status" -lt 128 ] || echo "hwcrypt-probe: ended after $seconds s"
  return 0
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
  tr ' ' '\n' < "$root/proc/cmdline" 2> /dev/null |
    grep -E '^(module_blacklist|modprobe\.blacklist|initcall_blacklist|fips|cryptomgr\.|af_alg|crypto)' | scrub_free
  section distribution '/etc/os-release, /etc/openwrt_release'
  for file in /etc/os-release /etc/openwrt_release; do
    [ -r "$root$file" ] &&
      grep -E '^(NAME|ID|ID_LIKE|VERSION|VERSION_ID|PRETTY_NAME|BUILD_ID|DISTRIB_[A-Z]*|OPENWRT_(BOARD|ARCH))=' "$root$file"
  done | scrub
  section config '/proc/config.gz or /boot/config-RELEASE: what concerns crypto'
  if [ -r "$root/proc/config.gz" ] && have zcat; then
    zcat < "$root/proc/config.gz" 2> /dev/null
  elif [ -r "$root/boot/config-$(uname -r)" ]; then
    cat "$root/boot/config-$(uname -r)"
  fi | grep -E 'CONFIG_(CRYPTO|DM_CRYPT|BLK_DEV_DM|ARM.*_CRYPTO|CRYPTODEV|FW_LOADER=|MODULES|TLS)' | scrub | few 700
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
  for file in /proc/device-tree/model /proc/device-tree/compatible /sys/class/dmi/id/board_vendor /sys/class/dmi/id/board_name; do
    word "$root$file"
  done | scrub_free
  section cpuinfo '/proc/cpuinfo, the first CPU'
  grep -iE '^(system type|machine|model name|cpu model|cpu|hardware|flags|features|isa|ases implemented|vendor_id|cpu implementer|cpu part|cpu architecture|bogomips)[[:blank:]]*:' \
    "$root/proc/cpuinfo" 2> /dev/null | first_cpu | scrub
  printf 'processors\t: %s\n' "$(grep -c '^processor' "$root/proc/cpuinfo" 2> /dev/null)"
  section memory '/proc/meminfo, /proc/loadavg'
  grep -E '^(MemTotal|MemFree|MemAvailable|SwapTotal):' "$root/proc/meminfo" 2> /dev/null
  word "$root/proc/loadavg" | sed 's/^\([0-9.]* [0-9.]* [0-9.]*\).*/loadavg: \1/'
}

modules() {
  if [ -r "$root/proc/modules" ]; then
    section modules '/proc/modules, without addresses'
    sed 's/ 0x[0-9a-fA-F]*//' "$root/proc/modules" 2> /dev/null | few 600
  fi
  folder=$root/lib/modules/$(uname -r)
  section module-files "crypto modules in /lib/modules/$(uname -r)"
  if [ -r "$folder/modules.dep" ]; then
    sed -n 's/^\([^:]*\.ko[a-z.]*\):.*/\1/p' "$folder/modules.dep"
  else
    for file in "$folder"/*.ko*; do [ -e "$file" ] && printf '%s\n' "${file##*/}"; done
  fi 2> /dev/null | grep -E "$crypto_words" | few 600
  section modules-builtin "crypto modules in /lib/modules/$(uname -r)/modules.builtin"
  grep -E "$crypto_words" "$folder/modules.builtin" 2> /dev/null | few 300
  section modprobe 'lines of modprobe.d that keep something from being loaded'
  for file in "$root"/etc/modprobe.d/*.conf "$root"/run/modprobe.d/*.conf "$root"/usr/local/lib/modprobe.d/*.conf \
    "$root"/usr/lib/modprobe.d/*.conf "$root"/lib/modprobe.d/*.conf; do
    [ -r "$file" ] || continue
    grep -E '^[[:blank:]]*(install|blacklist)[[:blank:]]' "$file" | grep -E "$crypto_words" | while read -r line; do
      printf '%s: %s\n' "${file#"$root"}" "$line"
    done
  done | scrub_free
  section modules-load 'modules that are loaded at start'
  for file in "$root"/etc/modules "$root"/etc/modules.d/* "$root"/etc/modules-load.d/*; do
    [ -r "$file" ] && grep -E "$crypto_words" "$file" | while read -r line; do
      printf '%s: %s\n' "${file#"$root"}" "$line"
    done
  done | grep -v ': *#' | scrub_free | few 200
}

bound() { driver=$(last "$1/driver"); printf '%s' "${driver:-none}"; }

devices() {
  section device-tree 'nodes of crypto engines'
  if have find; then
    find "$root/proc/device-tree/" -type d 2> /dev/null |
      grep -iE '/[^/]*(crypt|eip|aes|cesa|caam|sahara|[@,-]sec[@0-9]|jr@|dcp|des@|sham@|sha@|qce|rng@|safexcel)[^/]*$' | few 60 |
      while read -r node; do
        printf '%s compatible=%s status=%s\n' "${node##*/}" "$(word "$node/compatible")" "$(word "$node/status")"
      done | scrub
  fi
  section platform 'platform devices of crypto engines, and who drives them'
  for device in "$root"/sys/bus/platform/devices/*; do
    compatible=$(word "$device/of_node/compatible")
    case "${device##*/} $compatible" in
      *crypt* | *eip9* | *eip1* | *cesa* | *caam* | *sec-v* | *safexcel* | *sahara* | *-dcp* | *-aes* | *.aes* | *qce* | *ccree* | *hisi*sec* | *-sha* | *.jr*)
        printf '%s compatible=%s driver=%s\n' "${device##*/}" "$compatible" "$(bound "$device")"
        ;;
    esac
  done | scrub
  section pci 'vendor:device class driver'
  for device in "$root"/sys/bus/pci/devices/*; do
    [ -r "$device/vendor" ] &&
      printf '%s %s:%s class %s driver=%s\n' "${device##*/}" "$(word "$device/vendor")" "$(word "$device/device")" \
        "$(word "$device/class")" "$(bound "$device")"
  done | few 200
  section virtio 'virtio devices; 0x0014 is virtio-crypto'
  for device in "$root"/sys/bus/virtio/devices/*; do
    [ -r "$device/device" ] &&
      printf '%s device=%s driver=%s\n' "${device##*/}" "$(word "$device/device")" "$(bound "$device")"
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
  done | scrub
  section dev-crypto 'ls -ln /dev/crypto'
  # shellcheck disable=SC2012 # there is nothing else that shows modes everywhere
  ls -ln "$root/dev/crypto" 2>&1 | sed "s,$root/dev,/dev,g"
  [ -r "$root/dev/crypto" ] && [ -w "$root/dev/crypto" ] && echo 'this user can open it'
  section hwrng '/sys/class/misc/hw_random'
  for file in rng_available rng_current; do
    word "$root/sys/class/misc/hw_random/$file" | sed "s/^/$file: /"
  done
}

af_alg() {
  section af-alg '/proc/net/protocols, /proc/sys/crypto, /proc/self/status'
  grep -E '^(protocol|ALG)[[:blank:]]' "$root/proc/net/protocols" 2> /dev/null
  [ -r "$root/proc/net/protocols" ] || echo 'protocols: cannot be read'
  for file in "$root"/proc/sys/crypto/*; do [ -r "$file" ] && printf '%s = %s\n' "${file##*/}" "$(word "$file")"; done
  grep -E '^(CapEff|Seccomp):' "$root/proc/self/status" 2> /dev/null
  sed 's/^/uid_map: /' "$root/proc/self/uid_map" 2> /dev/null
  printf 'uid: %s\n' "$(id -u 2> /dev/null)"
}

# --- OpenSSL ---------------------------------------------------------------------------------------------------------

cnf_words='^[[:blank:]]*(\[ *[a-z_]*(openssl|engine|provider|default|init|devcrypto|afalg|cryptodev|qat)[a-z_]* *\]|openssl_conf|engines|providers|engine_id|dynamic_path|default_algorithms|soft_load|CIPHERS|DIGESTS|USE_SOFTDRIVERS|init|activate|module|[a-z_]*(devcrypto|afalg|cryptodev|padlock|qat)[a-z_]*)'

openssl_facts() {
  section openssl "$1 version -a"
  run "$patience" "$1" version -a | grep -E '^(OpenSSL|LibreSSL|built|platform|options|compiler|OPENSSLDIR|ENGINESDIR|MODULESDIR|CPUINFO)' | scrub_free
  section openssl-engines "$1 engine -t -c"
  run "$patience" "$1" engine -t -c | scrub_free | few 60
  engines_folder=$("$1" version -e 2> /dev/null | sed -n 's/^ENGINESDIR: *"\(.*\)".*/\1/p')
  section openssl-engine-files 'libraries of engines'
  for file in "$engines_folder"/*.so /usr/lib/engines*/*.so; do [ -e "$file" ] && printf '%s\n' "$file"; done | scrub_free
  section openssl-providers "$1 list -providers -verbose"
  run "$patience" "$1" list -providers -verbose | scrub_free | few 60
  section openssl-config 'openssl.cnf and engines.cnf.d: engines and providers'
  folder=$("$1" version -d 2> /dev/null | sed -n 's/^OPENSSLDIR: *"\(.*\)".*/\1/p')
  for file in "$folder/openssl.cnf" "$root"/etc/ssl/engines.cnf.d/* "$root"/etc/ssl/modules.cnf.d/* "$root"/var/etc/ssl/*.cnf; do
    [ -r "$file" ] && grep -E "$cnf_words" "$file" | while read -r line; do
      printf '%s: %s\n' "${file#"$root"}" "$line"
    done
  done | scrub_free | few 120
  if have uci; then
    section openssl-uci 'uci show openssl'
    run "$patience" uci -q show openssl | scrub_free | few 60
  fi
  for engine in devcrypto afalg; do
    section openssl-dump "$1 engine -pre DUMP_INFO $engine"
    run "$patience" "$1" engine -pre DUMP_INFO "$engine" | scrub_free | few 80
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
  fi | grep -E '^(kmod-(crypto|cryptodev|dm|fs-|tls)|lib(open)?ssl|openssl|cryptsetup|libcryptsetup|afalg|devcrypto|kernel|openvpn|strongswan|wireguard|mbedtls|libkcapi|linux-image|cryptodev)' |
    scrub_free | few 120
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
  if have cryptsetup; then run "$patience" cryptsetup --version | scrub_free; else echo 'cryptsetup: not found'; fi
  section dm-crypt 'dmsetup table --target crypt, the keys and names removed'
  if have dmsetup; then
    tables=$(run "$patience" dmsetup table --target crypt)
    case $tables in
      *' crypt '*) printf '%s\n' "$tables" | table_without_keys | scrub ;;
      *) echo "${tables:-none}" | grep -iE '^no|denied|none|failure|not' | scrub_free | few 5 ;;
    esac
  else
    echo 'dmsetup: not found'
  fi
  section block '/sys/block: logical and physical sector, rotational, size in 512 bytes'
  for device in "$root"/sys/block/*; do
    case ${device##*/} in ram* | loop* | zram* | fd* | sr*) continue ;; esac
    [ -r "$device/queue/logical_block_size" ] &&
      printf '%s logical=%s physical=%s rotational=%s sectors=%s\n' "${device##*/}" \
        "$(word "$device/queue/logical_block_size")" "$(word "$device/queue/physical_block_size")" \
        "$(word "$device/queue/rotational")" "$(word "$device/size")"
  done
  number=0
  while read -r _ _ _ name; do
    device=$root/dev/$name
    case $name in ram* | loop* | zram* | name | '') continue ;; esac
    [ -r "$device" ] || continue
    [ "$(dd if="$device" bs=1 count=4 2> /dev/null | tr -d '\000')" = LUKS ] || continue
    number=$((number + 1))
    [ "$number" -le 6 ] || break
    section luks "header of $name, without salts, digests, labels and UUIDs"
    if have cryptsetup; then
      run "$patience" cryptsetup luksDump "$device" | grep -E "$luks_allowed" | grep -vi 'label' | scrub
    else
      # LUKS2 has its description as JSON; only words of this form are taken from it.
      dd if="$device" bs=4096 skip=1 count=3 2> /dev/null | tr '\000,{}' '[\n*]' |
        grep -E '^"(encryption|sector_size|type|time|memory|cpus|key_size)":("[a-z0-9:()-]*"|[0-9]*)$'
    fi
  done 2> /dev/null < "$root/proc/partitions"
}

kernel_log() {
  section log 'lines of the kernel log that name crypto'
  if [ -n "$root" ]; then cat "$root/kernel-log"; else run "$patience" dmesg; fi | grep -iE 'crypt|alg:|af_alg|algif|aes|eip[0-9]|safexcel|cesa|caam|sahara|qat|ccree|hw_random|talitos|qce|sa2ul|dm-crypt|luks|dmesg:' |
    grep -viE 'command line|decrypted memory|fscrypt|key type' | scrub_free | few 120
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
  time_for "$speed_takes" "openssl speed $*" || return 0
  if [ -n "$conf" ]; then
    OPENSSL_CONF=$conf run "$((speed_takes + 5))" openssl speed "$@"
  else
    run "$((speed_takes + 5))" openssl speed "$@"
  fi | scrub_free
}

timings() {
  section interrupts-before '/proc/interrupts'
  few 600 < "$root/proc/interrupts" 2> /dev/null | scrub
  if have openssl; then
    # -seconds is there since 1.1.1; before, a size takes three seconds.
    seconds=
    speed_takes=16
    if openssl speed -help 2>&1 | grep -q -e '-seconds'; then
      seconds='-seconds 1'
      speed_takes=7
    fi
    engines=$(openssl engine 2> /dev/null | sed -n 's/^(\([a-z_]*\)).*/\1/p' | grep -vE '^(dynamic|rdrand|openssl|loader_attic|capi)$')
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
      time_for 4 "cryptsetup benchmark -c $1 -s $2" && run 8 cryptsetup benchmark -c "$1" -s "$2" | scrub_free
    done
  fi
  section interrupts-after '/proc/interrupts'
  few 600 < "$root/proc/interrupts" 2> /dev/null | scrub
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
  started=$(now)
  host=$(cat "$root/proc/sys/kernel/hostname" 2> /dev/null)
  host=${host:-$(uname -n)}
  echo "hwcrypt-probe $version"
  echo '# What this machine has for cryptography, for hwcrypt doctor. Nothing was changed.'
  echo '# Taken out: MAC and IP addresses, host and user names, serial numbers, UUIDs, labels, keys, salts. Look it through all the same.'
  kernel
  machine
  section crypto '/proc/crypto'
  few 6000 < "$root/proc/crypto" 2>&1 | scrub
  modules
  devices
  af_alg
  if have openssl; then openssl_facts openssl; else section openssl 'openssl version -a' && echo 'openssl: not found'; fi
  packages
  disks
  kernel_log
  if [ -z "$quick" ]; then timings; fi
  printf '\n[[end]]\n'
}

# As a function, and with nothing to read: given to `sh -s` on standard input, a command would else eat the rest of the script.
main "$@" < /dev/null
