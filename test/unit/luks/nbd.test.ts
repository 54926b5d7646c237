/** The NBD server against a client written out by hand, and against noise. What other people's clients make of it: cli/luks/serve.test. */
import assert from 'node:assert/strict';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Served, serveConnection } from '#src/luks/nbd/connection.js';
import { listen, type NbdServer } from '#src/luks/nbd/server.js';
import { Random } from '../../helpers/random.js';
import { scratch } from '../cli/helpers.js';

const folder = scratch();
const BYTES = 100_000;
let counter = 0;

interface Fixture {
  readonly image: Buffer;
  readonly server: NbdServer;
  readonly socket: string;
  readonly told: string[];
  flushes: number;
}

async function serve(readOnly = false): Promise<Fixture> {
  const image = Buffer.from(new Random('nbd').bytes(BYTES));
  const told: string[] = [];
  const disk: Served = {
    bytes: BYTES,
    readOnly,
    preferredBytes: 4096,
    read(buffer, offset) {
      // A sector that cannot be read.
      if (offset <= 77_777 && offset + buffer.length > 77_777) throw new Error('bad sector');
      image.copy(buffer, 0, offset, offset + buffer.length);
    },
    write: (data, offset) => image.set(data, offset),
    flush: () => {
      made.flushes++;
    },
  };
  const socket = join(folder, `s${counter++}`);
  const server = await listen({ socket }, disk, 'disk', ({ message }) => told.push(message));
  const made: Fixture = { image, server, socket, told, flushes: 0 };
  return made;
}

/** A client that says what it is told to and reads as many bytes as it is told to. */
class Client {
  readonly #socket: net.Socket;
  #have = Buffer.alloc(0);
  #ended = false;
  #wake = (): void => {};

  constructor(path: string) {
    this.#socket = net.connect(path);
    this.#socket.on('data', (chunk) => {
      this.#have = Buffer.concat([this.#have, chunk]);
      this.#wake();
    });
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    this.#socket.on('end', end).on('close', end).on('error', end);
  }

  send(...pieces: (Buffer | number[])[]): void {
    this.#socket.write(Buffer.concat(pieces.map((piece) => Buffer.from(piece as Buffer))));
  }

  /** Fewer where the server hangs up. */
  async take(length: number): Promise<Buffer> {
    while (this.#have.length < length && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const taken = this.#have.subarray(0, length);
    this.#have = this.#have.subarray(taken.length);
    return taken;
  }

  async hungUp(): Promise<boolean> {
    return (await this.take(1)).length === 0;
  }

  close(): void {
    this.#socket.destroy();
  }
}

const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
};

const option = (number: number, data = Buffer.alloc(0)): Buffer =>
  Buffer.concat([Buffer.from('IHAVEOPT'), u32(number), u32(data.length), data]);
const go = (name: string): Buffer => option(7, Buffer.concat([u32(name.length), Buffer.from(name), u16(0)]));
const request = (command: number, offset: bigint, length: number, flags = 0, cookie = 7n): Buffer =>
  Buffer.concat([u32(0x25609513), u16(flags), u16(command), u64(cookie), u64(offset), u32(length)]);

async function optionAnswer(client: Client): Promise<{ option: number; type: number; data: Buffer }> {
  const head = await client.take(20);
  assert.equal(head.toString('hex', 0, 8), '0003e889045565a9');
  const data = await client.take(head.readUInt32BE(16));
  return { option: head.readUInt32BE(8), type: head.readUInt32BE(12), data };
}

async function errorOf(client: Client, cookie = 7n): Promise<number> {
  const answer = await client.take(16);
  assert.equal(answer.readUInt32BE(0), 0x67446698);
  assert.equal(answer.readBigUInt64BE(8), cookie);
  return answer.readUInt32BE(4);
}

async function connected(socket: string): Promise<Client> {
  const client = new Client(socket);
  assert.equal((await client.take(18)).toString('latin1', 0, 16), 'NBDMAGICIHAVEOPT');
  client.send(u32(3), go(''));
  for (const type of [3, 3, 1]) assert.equal((await optionAnswer(client)).type, type);
  return client;
}

test('negotiation: list, info, go, the old way, what is not known, and no', async () => {
  const { server, socket } = await serve();
  const client = new Client(socket);
  await client.take(18);
  client.send(
    u32(3),
    option(3),
    option(8),
    go('other'),
    option(6, Buffer.from('x')),
    option(3, Buffer.from('x')),
  );
  const entry = await optionAnswer(client);
  assert.deepEqual([entry.type, entry.data.toString('latin1', 4)], [2, 'disk']);
  assert.equal((await optionAnswer(client)).type, 1);
  for (const type of [1, 6, 3, 3]) assert.equal((await optionAnswer(client)).type, 2 ** 31 + type);
  client.send(option(6, Buffer.concat([u32(4), Buffer.from('disk'), u16(1), u16(3)])));
  const info = await optionAnswer(client);
  assert.equal(info.data.readBigUInt64BE(2), BigInt(BYTES));
  // has flags, flush, FUA, write zeroes, several connections; no trim.
  assert.equal(info.data.readUInt16BE(10), 1 | 4 | 8 | 64 | 256);
  const sizes = await optionAnswer(client);
  assert.deepEqual([sizes.data.readUInt32BE(2), sizes.data.readUInt32BE(6)], [1, 4096]);
  assert.equal((await optionAnswer(client)).type, 1);
  client.send(option(2));
  assert.equal((await optionAnswer(client)).type, 1);
  assert.ok(await client.hungUp());
  for (const [flags, padding] of [
    [1, 124],
    [3, 0],
  ] as const) {
    const old = new Client(socket);
    await old.take(18);
    old.send(u32(flags), option(1, Buffer.from('disk')), request(2, 0n, 0));
    assert.equal((await old.take(10 + padding)).readBigUInt64BE(0), BigInt(BYTES));
    assert.ok(await old.hungUp());
  }
  const wrong = new Client(socket);
  await wrong.take(18);
  wrong.send(u32(3), option(1, Buffer.from('other')));
  assert.ok(await wrong.hungUp());
  await server.close();
});

test('requests: data, bounds, errors of the disk, and what there is not', async () => {
  const fixture = await serve();
  const { server, socket, image, told } = fixture;
  const client = await connected(socket);
  client.send(request(0, 1001n, 5000));
  assert.equal(await errorOf(client), 0);
  assert.ok((await client.take(5000)).equals(image.subarray(1001, 6001)));
  const data = Buffer.from(new Random('data').bytes(3000));
  client.send(request(1, 50_001n, 3000, 1, 2n ** 64n - 1n), data);
  assert.equal(await errorOf(client, 2n ** 64n - 1n), 0);
  assert.ok(image.subarray(50_001, 53_001).equals(data));
  assert.equal(fixture.flushes, 1);
  client.send(request(6, 10n, 20), request(3, 0n, 0));
  assert.deepEqual([await errorOf(client), await errorOf(client)], [0, 0]);
  assert.ok(image.subarray(10, 30).every((byte) => byte === 0));
  assert.equal(fixture.flushes, 2);
  for (const [bytes, error] of [
    [request(0, BigInt(BYTES), 1), 22],
    [request(0, 2n ** 64n - 1n, 2), 22],
    [request(0, 0n, 2 ** 31), 22],
    [Buffer.concat([request(1, BigInt(BYTES) - 1n, 2), Buffer.alloc(2)]), 28],
    [request(6, 1n, BYTES), 28],
    [request(4, 0n, 512), 22],
    [request(99, 0n, 0), 22],
    [request(0, 0n, 1, 0x8000), 22],
    [request(0, 77_000n, 1000), 5],
  ] as const) {
    client.send(bytes);
    assert.equal(await errorOf(client), error, bytes.toString('hex', 0, 28));
  }
  assert.deepEqual(told, ['bad sector']);
  // It goes on after all that; and a length beyond anything ends it, since nobody could read past it.
  client.send(request(0, 0n, 0));
  assert.equal(await errorOf(client), 0);
  client.send(request(1, 0n, 2 ** 32 - 1));
  assert.ok(await client.hungUp());
  await server.close();
});

test('read-only: nothing is written', async () => {
  const { server, socket, image } = await serve(true);
  const before = Buffer.from(image);
  const client = await connected(socket);
  client.send(request(1, 0n, 3), [1, 2, 3], request(6, 0n, 3));
  assert.deepEqual([await errorOf(client), await errorOf(client)], [1, 1]);
  assert.ok(image.equals(before));
  client.close();
  await server.close();
});

test('many requests in flight, in pieces of any size, and clients that go in the middle', async () => {
  const { server, socket, image } = await serve();
  const random = new Random('pieces');
  const clients = await Promise.all([1, 2, 3].map(() => connected(socket)));
  const [first, second] = clients as [Client, Client, Client];
  const wanted: Buffer[] = [];
  const stream: Buffer[] = [];
  for (let i = 0; i < 200; i++) {
    const length = random.integer(0, 9000);
    const offset = random.integer(0, 60_000);
    stream.push(request(0, BigInt(offset), length, 0, BigInt(i)));
    wanted.push(image.subarray(offset, offset + length));
  }
  const all = Buffer.concat(stream);
  for (let at = 0; at < all.length; ) {
    const size = random.integer(1, 400);
    first.send(all.subarray(at, at + size));
    at += size;
    if (random.integer(0, 5) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  second.send(request(1, 0n, 5000), Buffer.alloc(100));
  second.close();
  for (const [i, bytes] of wanted.entries()) {
    assert.equal(await errorOf(first, BigInt(i)), 0);
    assert.ok((await first.take(bytes.length)).equals(bytes));
  }
  for (const client of clients) client.close();
  await server.close();
  await server.idle;
});

test('noise in the place of a client is cut off', async () => {
  const { server, socket } = await serve();
  const random = new Random('noise');
  for (let i = 0; i < 30; i++) {
    const client = i % 2 === 0 ? new Client(socket) : await connected(socket);
    client.send(Buffer.from(random.bytes(random.integer(29, 3000))));
    await client.take(18);
    assert.ok((await client.take(100_000)).length < 100_000);
    client.close();
  }
  const client = await connected(socket);
  client.send(request(0, 0n, 1));
  assert.equal(await errorOf(client), 0);
  client.close();
  await server.close();
});

test('a client that says nothing, or asks for options without end, is cut off; one that is served may be silent', async () => {
  const disk: Served = { bytes: 512, readOnly: true, preferredBytes: 512, read() {}, write() {}, flush() {} };
  const handshakeMs = 300;
  const socket = join(folder, 'hurry');
  const server = net.createServer((stream) => {
    void serveConnection(stream, disk, '', assert.fail, handshakeMs);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const patient = await connected(socket);
  const silent = new Client(socket);
  const half = new Client(socket);
  half.send(
    u32(3),
    'IHAVE'.split('').map((c) => c.charCodeAt(0)),
  );
  const flood = new Client(socket);
  flood.send(u32(3));
  let over = false;
  const flooding = (async () => {
    while (!over) {
      flood.send(option(8, Buffer.alloc(1000)), option(3));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  // Until it is hung up; what it was answered before does not count.
  for (const client of [silent, half, flood]) {
    while ((await client.take(4096)).length === 4096);
  }
  over = true;
  await flooding;
  patient.send(request(0, 0n, 1));
  assert.equal(await errorOf(patient), 0);
  patient.close();
  await new Promise((resolve) => server.close(resolve));
});

test('an option longer than any, and more clients than there are places', async () => {
  const { server, socket } = await serve();
  const long = new Client(socket);
  await long.take(18);
  long.send(u32(3), Buffer.from('IHAVEOPT'), u32(7), u32(2 ** 32 - 1));
  assert.equal((await optionAnswer(long)).type, 2 ** 31 + 9);
  assert.ok(await long.hungUp());
  const clients = await Promise.all(Array.from({ length: 16 }, () => connected(socket)));
  assert.ok(await new Client(socket).hungUp());
  clients[0]?.close();
  // A place that somebody has left is there again, soon.
  for (let seen = 0; seen === 0; ) {
    const next = new Client(socket);
    seen = (await next.take(18)).length;
    next.close();
  }
  for (const client of clients) client.close();
  await server.close();
});

test('a socket that a killed server left is taken over; one in use is not', async () => {
  const { server, socket } = await serve();
  const disk: Served = { bytes: 0, readOnly: true, preferredBytes: 512, read() {}, write() {}, flush() {} };
  await assert.rejects(
    listen({ socket }, disk, '', () => {}),
    /cannot listen at .*address already in use/,
  );
  await server.close();
  const { execFileSync } = await import('node:child_process');
  const script = `require('net').createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, 'SIGKILL'))`;
  assert.throws(() => execFileSync(process.execPath, ['-e', script]));
  await (await listen({ socket }, disk, '', () => {})).close();
});
