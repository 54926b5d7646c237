/**
 * The `qemu` guest: a PC emulated by QEMU (TCG, no KVM needed) with a virtio-crypto device, whose work the host does.
 * That is an accelerator with the physics of a router's engine: dear per request, cheap per byte.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, delimiter } from 'node:path';
import { type CpioEntry, cpioArchive } from './cpio.js';
import { type Boot, type GuestSystem, isCovered } from './job.js';
import { busybox, projectFolder, rigCache } from './paths.js';
import { kernelParameter, qemuValue } from './quote.js';
import { RigUnavailableError } from './types.js';

const kernelFolder = `${rigCache}/linux-image`;
const emulator = 'qemu-system-x86_64';

/** Needed before the host's files can be seen; everything else is then loaded from the unpacked package. */
const earlyModules = ['virtio_pci', 'virtio_console', '9pnet_virtio', '9p'];

/** `cache=loose`: the guest may keep what it has read, since nothing it shares read-only changes under it. */
const initScript = (insmod: readonly string[]) => `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs devtmpfs /dev
for module in ${insmod.join(' ')}; do /bin/busybox insmod /modules/$module || exit 1; done
/bin/busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose root /root || exit 1
/bin/busybox mount --move /dev /root/dev
exec /bin/busybox switch_root /root "$rig_init"
`;

export const qemu: GuestSystem = {
  memoryMiB: 1024,
  bootTimeoutSeconds: 180,

  check() {
    const missing: string[] = [];
    const path = (process.env['PATH'] ?? '').split(delimiter);
    if (!path.some((folder) => existsSync(`${folder}/${emulator}`))) missing.push('qemu-system-x86');
    if (kernelRelease() === undefined) missing.push('linux-image-amd64 (unpacked into .cache/)');
    if (!existsSync(busybox)) missing.push('busybox-static (unpacked into .cache/)');
    if (!existsSync('/lib/modules')) missing.push('the folder /lib/modules as a mount point');
    if (missing.length > 0) throw new RigUnavailableError(`the qemu guest needs ${missing.join(', ')}`);
  },

  modulesFolder: () => `${kernelFolder}/lib/modules`,

  launch({ options, runFolder, resultsFolder, memoryMiB }: Boot) {
    const share = (tag: string, folder: string, readOnly: boolean) => [
      '-virtfs',
      `local,path=${qemuValue(folder)},mount_tag=${tag},security_model=none,multidevs=remap` +
        (readOnly ? ',readonly=on' : ''),
    ];
    // The descriptors are the ends of socket pairs that rig/guest.ts hands over.
    const port = (name: string, descriptor: number) => [
      '-chardev',
      `socket,id=${name},fd=${descriptor}`,
      '-device',
      `virtserialport,chardev=${name},name=${name}`,
    ];
    const kernelLine = [
      'console=ttyS0',
      ...(options.onConsole ? [] : ['quiet']),
      'panic=-1',
      'mitigations=off',
      kernelParameter('rig_init', `${runFolder}/init`),
    ].join(' ');
    return {
      program: emulator,
      args: [
        ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
        ...['-M', 'q35', '-accel', 'tcg', '-cpu', options.cpu ?? 'max'],
        ...['-smp', String(options.processors ?? 1), '-m', String(memoryMiB)],
        ...['-kernel', `${kernelFolder}/boot/vmlinuz-${kernelRelease()}`, '-initrd', initialRoot()],
        ...['-append', kernelLine],
        ...['-chardev', 'stdio,id=console,signal=off', '-serial', 'chardev:console'],
        ...['-device', 'virtio-serial-pci'],
        ...port('control', 3),
        ...port('stdout', 4),
        ...port('stderr', 5),
        ...share('root', '/', true),
        ...share('results', resultsFolder, false),
        ...(isCovered(projectFolder) ? share('project', projectFolder, true) : []),
        ...(options.accelerator === false
          ? []
          : [
              '-object',
              'cryptodev-backend-builtin,id=cryptodev0',
              '-device',
              'virtio-crypto-pci,id=crypto0,cryptodev=cryptodev0',
            ]),
      ],
    };
  },
};

function kernelRelease(): string | undefined {
  const prefix = 'vmlinuz-';
  if (!existsSync(`${kernelFolder}/boot`)) return undefined;
  return readdirSync(`${kernelFolder}/boot`)
    .find((name) => name.startsWith(prefix))
    ?.slice(prefix.length);
}

/** The kernel's first root: busybox and the modules for the rest. Made once for each content. */
function initialRoot(): string {
  const release = kernelRelease()!;
  const shown = spawnSync(
    'modprobe',
    ['--dirname', kernelFolder, '--set-version', release, '--all', '--show-depends', ...earlyModules],
    { encoding: 'utf8', env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` } },
  );
  if (shown.status !== 0) {
    throw new RigUnavailableError(`the qemu guest needs kmod: ${shown.stderr ?? shown.error?.message}`);
  }
  const files = [
    ...new Set(
      shown.stdout
        .split('\n')
        .filter((line) => line.startsWith('insmod '))
        .map((line) => line.slice('insmod '.length).trim()),
    ),
  ];
  const folders = ['bin', 'dev', 'root', 'modules'];
  const entries: CpioEntry[] = [
    ...folders.map((path) => ({ path, mode: 0o755 })),
    { path: 'bin/busybox', mode: 0o755, data: readFileSync(busybox) },
    ...files.map((file) => ({ path: `modules/${basename(file)}`, mode: 0o644, data: readFileSync(file) })),
    { path: 'init', mode: 0o755, data: Buffer.from(initScript(files.map((file) => basename(file)))) },
  ];
  const archive = cpioArchive(entries);
  const folder = `${rigCache}/initial-root`;
  const file = `${folder}/${createHash('sha256').update(archive).digest('hex').slice(0, 16)}.cpio`;
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    // Two runs may make it at the same time: each writes its own file, and the last rename wins.
    writeFileSync(`${file}.${process.pid}`, archive);
    renameSync(`${file}.${process.pid}`, file);
  }
  return file;
}
