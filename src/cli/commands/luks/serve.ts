/** `hwcrypt luks serve`: the plaintext of an image for NBD clients: the kernel, qemu, nbdcopy. */
import { HwcryptError } from '../../../errors.js';
import { listen, type NbdServer } from '../../../luks/nbd/server.js';
import { Interruption } from '../../interruption.js';
import type { CommandSpec, Given } from '../../options.js';
import { writeError, writeText } from '../../stdio.js';
import { HEADER_OPTION, imageOf, KEY_RULES, OPEN_OPTIONS, openVolume, tellOf } from '../../volume.js';

export const command: CommandSpec = {
  name: 'luks serve',
  summary: 'Serves the plaintext of an image over NBD, until Ctrl-C.',
  usage: 'IMAGE --socket PATH',
  operands: 1,
  options: [
    { names: ['--socket'], value: 'PATH', help: 'Listen at this Unix socket, which only its owner may use' },
    { names: ['--port'], value: 'N', help: 'Listen at this port of 127.0.0.1; 0 takes a free one' },
    { names: ['--read-only', '-r'], help: 'Nothing is written' },
    { names: ['--export'], value: 'NAME', help: 'What it is called (the empty name, which clients ask for)' },
    { names: ['--once'], help: 'End when the last client has gone' },
    HEADER_OPTION,
    ...OPEN_OPTIONS,
    { names: ['-v'], help: 'Say in the end which keyslot opened, and who did the work', section: 'General' },
  ],
  rules: [...KEY_RULES, { of: '--socket', beside: ['--port'] }],
  notes: `
There is no password and no encryption on the way: whoever may connect reads the plaintext.
TRIM is refused: which blocks are free would show in the image. WRITE_ZEROES writes zeros, encrypted.

  hwcrypt luks serve disk.img --socket /run/user/1000/disk -pass file:secret
  qemu-img convert -n … 'nbd+unix:///?socket=/run/user/1000/disk' plain.img
  nbdcopy 'nbd+unix:///?socket=/run/user/1000/disk' plain.img
  sudo nbd-client -unix /run/user/1000/disk /dev/nbd0 && sudo mount /dev/nbd0 /mnt
`,
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const [socket, port] = [given.get('socket'), given.number('port', 0, 65535)];
  if (socket === undefined && port === undefined) {
    throw new HwcryptError('USAGE', 'say where to listen: --socket PATH or --port N');
  }
  const readOnly = given.has('read-only');
  const volume = await openVolume(given, image, readOnly ? 'serve' : 'write');
  const { device, payload, bytes } = volume;
  const disk = {
    bytes,
    readOnly,
    preferredBytes: Math.max(...volume.plan.pieces.map(({ sectorBytes }) => sectorBytes)),
    read: (buffer: Buffer, offset: number) => payload.read(buffer, offset),
    write: (data: Buffer, offset: number) => payload.write(data, offset),
    flush: () => device.flush(),
  };
  const interruption = new Interruption();
  const serve = async (): Promise<void> => {
    let server: NbdServer | undefined;
    try {
      server = await listen({ socket, port }, disk, given.get('export') ?? '', (error) =>
        writeError(`hwcrypt: luks serve: ${error.message}`),
      );
      writeText(`${server.uri}\n`);
      const stopped = new Promise<void>((resolve) => {
        interruption.signal.addEventListener('abort', () => resolve());
      });
      await Promise.race(given.has('once') ? [stopped, server.idle] : [stopped]);
    } finally {
      await server?.close();
      if (!readOnly) device.flush();
    }
  };
  try {
    await serve();
    if (given.has('v')) tellOf(volume);
  } finally {
    interruption.settle();
    volume.close();
  }
}
