/**
 * An NBD server on a Unix socket or a port of this machine.
 *
 * Room `luks`.
 */
import fs from 'node:fs';
import net from 'node:net';
import { dirname } from 'node:path';

import { HwcryptError } from '../../errors.js';
import { printable, systemMessage } from '../../files/io.js';
import { type Served, serveConnection } from './connection.js';

export interface Address {
  /** One of the two. The port is on the loopback interface only: there is no password, and nothing is encrypted on the way. */
  readonly socket?: string | undefined;
  readonly port?: number | undefined;
}

export interface NbdServer {
  /** As a client takes it: `nbd+unix:///?socket=/run/disk`. */
  readonly uri: string;
  /** Settles when there is no client any more, after the first. */
  readonly idle: Promise<void>;
  close(): Promise<void>;
}

/** Each may hold memory for a request. */
const MAX_CLIENTS = 16;
const LOOPBACK = '127.0.0.1';
const ONLY_OWNER = 0o177;
/** Of `sockaddr_un`, without the zero at its end: what is longer Node cuts without a word. */
const MAX_SOCKET_BYTES = 107;

/** @param failed is told of what the disk said to a client's request @throws OUTPUT_FILE */
export async function listen(
  { socket, port }: Address,
  disk: Served,
  exportName: string,
  failed: (error: Error) => void,
): Promise<NbdServer> {
  const streams = new Set<net.Socket>();
  let idle: () => void = () => {};
  const idled = new Promise<void>((resolve) => {
    idle = resolve;
  });
  const server = net.createServer({ noDelay: true, highWaterMark: 2 ** 20 }, (stream) => {
    if (streams.size >= MAX_CLIENTS) {
      stream.destroy();
      return;
    }
    streams.add(stream);
    void serveConnection(stream, disk, exportName, failed).then(() => {
      streams.delete(stream);
      if (streams.size === 0) idle();
    });
  });
  const name = socket === undefined ? `${LOOPBACK}:${port}` : printable(socket);
  if (socket !== undefined) {
    const bytes = Buffer.byteLength(socket);
    if (bytes > MAX_SOCKET_BYTES) {
      throw new HwcryptError(
        'OUTPUT_FILE',
        `cannot listen at ${name}: the path has ${bytes} bytes, and a socket's has ${MAX_SOCKET_BYTES} at most`,
      );
    }
    const problem = await placeProblem(socket);
    if (problem !== undefined) throw new HwcryptError('OUTPUT_FILE', `cannot listen at ${name}: ${problem}`);
  }
  // Only the owner may connect, from the moment that it is there.
  const umask = process.umask(ONLY_OWNER);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      if (socket !== undefined) server.listen(socket, resolve);
      else server.listen(port, LOOPBACK, resolve);
    });
  } catch (error) {
    throw new HwcryptError('OUTPUT_FILE', `cannot listen at ${name}: ${systemMessage(error)}`, {
      cause: error,
    });
  } finally {
    process.umask(umask);
  }
  const bound = server.address() as net.AddressInfo | string;
  return {
    uri:
      typeof bound === 'string'
        ? `nbd+unix:///${encodeURIComponent(exportName)}?socket=${bound}`
        : `nbd://${bound.address}:${bound.port}/${encodeURIComponent(exportName)}`,
    idle: idled,
    async close() {
      for (const stream of streams) stream.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A socket at which nobody listens is what a killed server left. */
async function placeProblem(path: string): Promise<string | undefined> {
  const directory = dirname(path);
  // Node calls that "permission denied".
  if (!fs.existsSync(directory)) return `there is no directory ${printable(directory)}`;
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if (!stat.isSocket()) return 'something is there that is no socket';
  const refused = await new Promise<boolean>((resolve) => {
    const probe = net.connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(false);
    });
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
  if (refused) fs.unlinkSync(path);
  return undefined;
}
