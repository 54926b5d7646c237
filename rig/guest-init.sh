# What the guest's first process does: make the host's read-only root usable, run one command, report, power off.
#
# Sourced by a job file that rig/job.ts writes for each run. The job file sets:
#   rig_kind        uml | qemu
#   rig_project     the project's folder;  rig_project_hidden=1 where a tmpfs below would cover it
#   rig_results     the one folder that is shared read-write
#   rig_modules     the folder that holds $(uname -r) with the modules
#   rig_tmp_bytes   size of /tmp
#   rig_modprobe_conf, rig_load    lines for modprobe.d; modules to load
#   rig_command     a function that execs the command
#
# Three channels lead to the host: what the command writes to its stdout, its stderr, and control. The kernel's
# console is none of them. On control this script says `ready`, then `status N`; or `failed REASON`.
# Everything here runs under busybox's shell or dash as process 1: if it exits, the kernel panics, and the host sees that
# too. In busybox's shell its own commands go before those of PATH: what must be the system's has its whole path.

PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
umask 022

rig_power_off() {
  sync
  # The kernel does it even where no init package (halt, poweroff) is installed.
  echo o >/proc/sysrq-trigger 2>/dev/null
  sleep 5
  halt -f -p 2>/dev/null || busybox poweroff -f
  while :; do sleep 60; done
}

rig_fail() {
  echo "failed $*" >&5
  rig_power_off
}

# By its path: until then busybox would start itself by the host's /proc/self/exe, which is the guest's kernel.
/bin/mount -t proc proc /proc
# What is to be seen in /sys and /dev may be the host's, through the shared root.
grep -q '^[^ ]* /sys sysfs ' /proc/mounts || mount -t sysfs sysfs /sys
grep -q '^[^ ]* /dev devtmpfs ' /proc/mounts || mount -t devtmpfs devtmpfs /dev

case $rig_kind in
uml)
  rig_control=/dev/ttyS0 rig_out=/dev/ttyS1 rig_err=/dev/ttyS2
  # Without raw mode the terminal layer would turn \n into \r\n and echo.
  for port in "$rig_control" "$rig_out" "$rig_err"; do stty raw -echo <"$port"; done
  ;;
qemu)
  # The ports' names arrive some time after the ports.
  rig_tries=0
  until [ -n "$rig_control" ] && [ -n "$rig_out" ] && [ -n "$rig_err" ]; do
    for port in /sys/class/virtio-ports/vport*; do
      name=
      [ -e "$port/name" ] && read -r name <"$port/name"
      case $name in
      control) rig_control=/dev/${port##*/} ;;
      stdout) rig_out=/dev/${port##*/} ;;
      stderr) rig_err=/dev/${port##*/} ;;
      esac
    done
    rig_tries=$((rig_tries + 1))
    [ "$rig_tries" -lt 50 ] || { echo "rig: no virtio-serial ports"; exit 1; }
    sleep 0.1
  done
  ;;
esac
exec 5>"$rig_control" || exit 1

mkdir -p /dev/pts /dev/shm
# What udev would make.
ln -sf /proc/self/fd /dev/fd
ln -sf fd/0 /dev/stdin
ln -sf fd/1 /dev/stdout
ln -sf fd/2 /dev/stderr
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run || rig_fail "cannot mount /run"
mkdir -p /run/lock /run/cryptsetup /run/hwcrypt-rig
mount -t tmpfs -o "mode=1777,size=$rig_tmp_bytes" tmpfs /tmp || rig_fail "cannot mount /tmp"
mount -t tmpfs -o "mode=1777,size=$rig_tmp_bytes" tmpfs /var/tmp || rig_fail "cannot mount /var/tmp"

rig_share() { # tag, folder, rw|ro
  mkdir -p "$2" 2>/dev/null
  case $rig_kind in
  uml) mount -t hostfs -o "$3,$2" none "$2" ;;
  qemu) mount -t 9p -o "$3,trans=virtio,version=9p2000.L,msize=512000" "$1" "$2" ;;
  esac || rig_fail "cannot mount $2"
}
[ -z "$rig_project_hidden" ] || rig_share project "$rig_project" ro
rig_share results "$rig_results" rw

rig_release=$(uname -r)
mount -t tmpfs -o mode=755 tmpfs /lib/modules || rig_fail "cannot mount on /lib/modules (does it exist on the host?)"
mkdir -p "/lib/modules/$rig_release"
mount --bind "$rig_modules/$rig_release" "/lib/modules/$rig_release" ||
  rig_fail "no modules for the guest's kernel $rig_release"

# The host's own modprobe.d must not decide what the guest can do.
if [ -d /etc/modprobe.d ]; then mount -t tmpfs tmpfs /etc/modprobe.d; else mkdir -p /run/modprobe.d; fi
if [ -n "$rig_modprobe_conf" ]; then
  [ -d /etc/modprobe.d ] && rig_conf=/etc/modprobe.d/hwcrypt-rig.conf || rig_conf=/run/modprobe.d/hwcrypt-rig.conf
  printf '%s\n' "$rig_modprobe_conf" >"$rig_conf"
fi
for module in $rig_load; do
  rig_said=$(/sbin/modprobe "$module" 2>&1) || rig_fail "modprobe $module: $rig_said"
done

echo "$rig_kind" >/proc/sys/kernel/hostname
ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null

# The command gets pipes, as it would anywhere; a terminal would make it colour and buffer its output differently.
mkfifo /run/hwcrypt-rig/stdout /run/hwcrypt-rig/stderr
cat /run/hwcrypt-rig/stdout >"$rig_out" &
rig_cats=$!
cat /run/hwcrypt-rig/stderr >"$rig_err" &
rig_cats="$rig_cats $!"

echo ready >&5
# In the foreground: a background command of a shell without job control would have SIGINT ignored.
(
  cd "$rig_project" || exit 125
  exec 5>&-
  rig_command
) </dev/null >/run/hwcrypt-rig/stdout 2>/run/hwcrypt-rig/stderr
rig_status=$?

# What the command left running would keep the pipes open for ever.
for rig_process in /proc/[0-9]*; do
  rig_pid=${rig_process#/proc/}
  case " $$ $rig_cats " in *" $rig_pid "*) continue ;; esac
  kill -9 "$rig_pid" 2>/dev/null
done
wait $rig_cats
sync
echo "status $rig_status" >&5
rig_power_off
