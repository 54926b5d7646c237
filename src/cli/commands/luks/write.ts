/** `hwcrypt luks write`: plaintext into an image. */
import { HwcryptError } from '../../../errors.js';
import { Input } from '../../../files/io.js';
import type { Volume } from '../../../luks/volume.js';
import { Progress, watched } from '../../../report/progress.js';
import type { CommandSpec, Given } from '../../options.js';
import { sizeOf } from '../../sizes.js';
import { HEADER_OPTION, imageOf, KEY_RULES, OPEN_OPTIONS, openVolume, tellOf } from '../../volume.js';

export const command: CommandSpec = {
  name: 'luks write',
  summary: 'Encrypts a file or a pipe into an image, in place; what lies around it stays as it is.',
  usage: 'IMAGE [-in FILE] [--offset N]',
  operands: 1,
  options: [
    { names: ['-in', '-i'], value: 'FILE', help: 'Input (standard input)' },
    { names: ['--offset'], value: 'N', help: 'First byte of the plaintext (0); K, M, G count in 1024s' },
    HEADER_OPTION,
    ...OPEN_OPTIONS,
    { names: ['-v'], help: 'Say which keyslot opened, and who encrypted', section: 'General' },
  ],
  rules: KEY_RULES,
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const offset = sizeOf(given, 'offset') ?? 0;
  const input = Input.open(given.get('in'));
  const progress = new Progress('luks write', watched(image));
  let volume: Volume | undefined;
  try {
    volume = await openVolume(given, image, 'write');
    const room = volume.bytes - offset;
    if (room < 0 || (input.seekable && (input.size as number) > room)) {
      throw new HwcryptError(
        'USAGE',
        `${input.name}${input.seekable ? `, ${input.size} bytes,` : ''} does not fit: the plaintext has ${volume.bytes} bytes, ${Math.max(0, room)} of them from ${offset} on`,
      );
    }
    if (input.seekable) {
      const bytes = input.size as number;
      progress.update(0, bytes);
      const file = { fd: input.fd, name: input.name, offset: 0 };
      await volume.copy({ direction: 'write', offset, bytes, file }, (done) => progress.update(done, bytes));
    } else await pour(input, volume, offset, (done) => progress.update(done));
    volume.device.flush();
    progress.stop();
    if (given.has('v')) tellOf(volume);
  } finally {
    progress.stop();
    volume?.close();
    input.close();
  }
}

const PIECE_BYTES = 2 ** 20;

/** In order, from what has no size. */
async function pour(
  input: Input,
  volume: Volume,
  offset: number,
  progress: (bytes: number) => void,
): Promise<void> {
  const buffer = Buffer.alloc(PIECE_BYTES);
  let at = offset;
  try {
    for (;;) {
      const bytes = await input.readFull(buffer, 0, PIECE_BYTES);
      if (bytes === 0) return;
      if (at + bytes > volume.bytes) {
        throw new HwcryptError(
          'OUTPUT_FILE',
          `the image is full after ${at - offset} bytes of ${input.name}`,
        );
      }
      volume.payload.write(buffer.subarray(0, bytes), at);
      at += bytes;
      progress(at - offset);
    }
  } finally {
    buffer.fill(0);
  }
}
