/**
 * One client of the NBD server: negotiation, then requests in their order.
 *
 * Room `luks`. Memory is bounded by the longest request; whoever sends what is against the protocol is cut off.
 */
import type { Duplex } from 'node:stream';

import {
  blockSizeInfo,
  COMMAND,
  COMMAND_FLAG,
  decodeRequest,
  ERROR,
  type ExportFacts,
  exportInfo,
  exportReply,
  FLAG,
  greeting,
  HANDSHAKE,
  listEntry,
  OPTION,
  OPTION_HEADER_BYTES,
  OPTION_MAGIC,
  OPTION_REPLY,
  optionReply,
  REQUEST_BYTES,
  type Request,
  reply,
  requestedName,
} from './protocol.js';

/** What is served. Offsets and lengths are checked before. */
export interface Served {
  readonly bytes: number;
  readonly readOnly: boolean;
  /** What the cipher works in: other requests cost a read more. */
  readonly preferredBytes: number;
  read(buffer: Buffer, offset: number): void;
  /** May overwrite `data`. */
  write(data: Buffer, offset: number): void;
  flush(): void;
}

/** qemu and the kernel ask for no more. */
export const MAX_REQUEST_BYTES = 32 * 2 ** 20;
const MAX_OPTION_BYTES = 8192;
const ZEROES_BYTES = 2 ** 20;

/** As long as qemu-nbd lets it take. */
const HANDSHAKE_MS = 10_000;

class Hangup extends Error {}

/** Nothing more fits where the image lies: a sparse file in a full file system. The protocol counts a quota among it. */
function isFull(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(cause?.code ?? '');
}

/** Serves until the client goes. Never throws. @param failed is told of what the disk said */
export async function serveConnection(
  stream: Duplex,
  disk: Served,
  exportName: string,
  failed: (error: Error) => void,
  handshakeMs = HANDSHAKE_MS,
): Promise<void> {
  const connection = new Connection(stream, disk, exportName, failed);
  // Whoever connects and says nothing, or goes on asking for options, takes the place of somebody else.
  const timer = setTimeout(() => stream.destroy(), handshakeMs);
  try {
    const ready = await connection.negotiate();
    clearTimeout(timer);
    if (ready) await connection.transmit();
  } catch (error) {
    if (!(error instanceof Hangup)) failed(error as Error);
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
}

class Connection {
  readonly #stream: Duplex;
  readonly #disk: Served;
  readonly #name: string;
  readonly #failed: (error: Error) => void;
  readonly #facts: ExportFacts;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(stream: Duplex, disk: Served, name: string, failed: (error: Error) => void) {
    this.#stream = stream;
    this.#disk = disk;
    this.#name = name;
    this.#failed = failed;
    const able = FLAG.has | FLAG.flush | FLAG.fua | FLAG.multipleConnections;
    this.#facts = { bytes: disk.bytes, flags: able | (disk.readOnly ? FLAG.readOnly : FLAG.writeZeroes) };
    const wake = (): void => this.#wake?.();
    const end = (): void => {
      this.#ended = true;
      wake();
    };
    stream.on('readable', wake).on('drain', wake).on('end', end).on('error', end).on('close', end);
  }

  /** @returns is the client ready for requests? */
  async negotiate(): Promise<boolean> {
    await this.#send(greeting());
    const flags = (await this.#take(4)).readUInt32BE(0);
    if ((flags & ~(HANDSHAKE.fixedNewstyle | HANDSHAKE.noZeroes)) !== 0) return false;
    const padded = (flags & HANDSHAKE.noZeroes) === 0;
    for (;;) {
      const head = await this.#take(OPTION_HEADER_BYTES);
      if (head.readBigUInt64BE(0) !== OPTION_MAGIC) return false;
      const [option, length] = [head.readUInt32BE(8), head.readUInt32BE(12)];
      if (length > MAX_OPTION_BYTES) {
        await this.#send(optionReply(option, OPTION_REPLY.tooBig));
        return false;
      }
      const data = length === 0 ? Buffer.alloc(0) : await this.#take(length);
      switch (option) {
        case OPTION.exportName: {
          // There is no way to say no but to go.
          if (!this.#known(data.toString('utf8'))) return false;
          await this.#send(exportReply(this.#facts, padded));
          return true;
        }
        case OPTION.abort:
          await this.#send(optionReply(option, OPTION_REPLY.ack));
          return false;
        case OPTION.list:
          if (length > 0) await this.#send(optionReply(option, OPTION_REPLY.invalid));
          else {
            await this.#send(
              optionReply(option, OPTION_REPLY.server, listEntry(this.#name)),
              optionReply(option, OPTION_REPLY.ack),
            );
          }
          break;
        case OPTION.info:
        case OPTION.go:
          if (await this.#inform(option, data)) return true;
          break;
        default:
          await this.#send(optionReply(option, OPTION_REPLY.unsupported));
      }
    }
  }

  /** @returns does transmission begin? */
  async #inform(option: number, data: Buffer): Promise<boolean> {
    const name = requestedName(data);
    if (name === undefined || !this.#known(name)) {
      const type = name === undefined ? OPTION_REPLY.invalid : OPTION_REPLY.unknown;
      await this.#send(optionReply(option, type));
      return false;
    }
    await this.#send(
      optionReply(option, OPTION_REPLY.info, exportInfo(this.#facts)),
      optionReply(
        option,
        OPTION_REPLY.info,
        blockSizeInfo(1, Math.max(4096, this.#disk.preferredBytes), MAX_REQUEST_BYTES),
      ),
      optionReply(option, OPTION_REPLY.ack),
    );
    return option === OPTION.go;
  }

  /** The empty name is the one that there is. */
  #known(name: string): boolean {
    return name === '' || name === this.#name;
  }

  async transmit(): Promise<void> {
    for (;;) {
      const request = decodeRequest(await this.#take(REQUEST_BYTES));
      if (!request || request.command === COMMAND.disconnect) return;
      await this.#answer(request);
    }
  }

  async #answer(request: Request): Promise<void> {
    const { command, cookie, length } = request;
    let data: Buffer = Buffer.alloc(0);
    if (command === COMMAND.write) {
      // What is not taken off the stream would be read as a request.
      if (length > MAX_REQUEST_BYTES) throw new Hangup();
      if (length > 0) data = await this.#take(length);
    }
    const problem = this.#problem(request);
    if (problem !== undefined) {
      await this.#send(reply(cookie, problem));
      return;
    }
    let error = 0;
    try {
      data = await this.#work(request, data);
    } catch (cause) {
      if (cause instanceof Hangup) throw cause;
      this.#failed(cause as Error);
      error = isFull(cause) ? ERROR.noSpace : ERROR.io;
    }
    await this.#send(reply(cookie, error), ...(command === COMMAND.read && error === 0 ? [data] : []));
  }

  #problem({ command, flags, offset, length }: Request): number | undefined {
    const { bytes, readOnly } = this.#disk;
    if (!(Object.values(COMMAND) as number[]).includes(command)) return ERROR.invalid;
    if ((flags & ~(COMMAND_FLAG.fua | COMMAND_FLAG.noHole)) !== 0) return ERROR.invalid;
    if (command === COMMAND.flush) return undefined;
    const writing = command !== COMMAND.read;
    if (writing && readOnly) return ERROR.permission;
    if (offset + BigInt(length) > BigInt(bytes)) return writing ? ERROR.noSpace : ERROR.invalid;
    if (command === COMMAND.read && length > MAX_REQUEST_BYTES) return ERROR.invalid;
    return undefined;
  }

  async #work({ command, flags, offset, length }: Request, data: Buffer): Promise<Buffer> {
    const disk = this.#disk;
    const at = Number(offset);
    if (command === COMMAND.read) {
      const made = Buffer.allocUnsafeSlow(length);
      disk.read(made, at);
      return made;
    }
    if (command === COMMAND.write) disk.write(data, at);
    if (command === COMMAND.writeZeroes) {
      for (let done = 0; done < length; done += ZEROES_BYTES) {
        disk.write(Buffer.alloc(Math.min(ZEROES_BYTES, length - done)), at + done);
        // Up to 4 GiB in one request: the others shall not wait for all of it.
        await new Promise((resolve) => setImmediate(resolve));
        if (this.#ended) throw new Hangup();
      }
    }
    if (command === COMMAND.flush || (flags & COMMAND_FLAG.fua) !== 0) disk.flush();
    return data;
  }

  /** Exactly so many bytes. */
  async #take(length: number): Promise<Buffer> {
    for (;;) {
      const chunk = this.#stream.read(length) as Buffer | null;
      if (chunk?.length === length) return chunk;
      // At its end a stream gives what is left, however little.
      if (chunk !== null || this.#ended) throw new Hangup();
      await this.#event();
    }
  }

  async #send(...pieces: readonly Buffer[]): Promise<void> {
    let room = true;
    for (const piece of pieces) room = this.#stream.write(piece);
    while (!room) {
      if (this.#ended) throw new Hangup();
      if (!this.#stream.writableNeedDrain) return;
      await this.#event();
    }
  }

  #event(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
