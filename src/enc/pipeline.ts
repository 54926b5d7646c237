/**
 * The fast path: input → (base64) → cipher → (base64) → output, with the next read and the last write under way in
 * libuv's threads while the cipher works on this one.
 *
 * Room `enc`. A few buffers go round in a ring, each read into, encrypted in place and written from, so that memory is
 * constant whatever comes through and no byte is copied in between. The cipher runs on this thread: a hop to
 * another one costs more than it gains, since reading and writing already overlap it (measured on 1 GiB in tmpfs,
 * aes-128-cbc: 1.4 s so, 1.7 to 1.9 s with the cipher in a thread, 2.3 s in `openssl enc`; with 256-KiB buffers).
 */

import type { Input } from '../files/io.js';
import type { Output } from '../files/output.js';
import { type Base64Decoder, Base64Encoder } from './base64.js';
import { HEADROOM, TAILROOM, type Transform } from './transform.js';

/**
 * Waking a thread for each read and each write is what costs, up to 60 µs in a virtual machine: of 256 KiB a read, 1 GiB took
 * a quarter longer (aes-128-cbc 1.6 s against 1.25 s). Beyond 1 MiB little is gained.
 */
export const BUFFER_BYTES = 1024 * 1024;

/**
 * One is being read, one encrypted, and the rest wait for the write, which takes longest on a file system that
 * allocates.
 */
const BUFFERS = 4;

/** Room in front of what is read: the carried bytes of a base64 group and of a cipher block. */
const FRONT = HEADROOM + 16;

interface Slot {
  readonly buffer: Uint8Array;
  /** For base64 output only, which does not fit in place. */
  text?: Uint8Array;
}

export interface PipelineOptions {
  readonly transform?: Transform | undefined;
  /** Base64 on the way in. */
  readonly decoder?: Base64Decoder | undefined;
  /** Base64 on the way out. */
  readonly encoder?: Base64Encoder | undefined;
  /** What was read before, to be worked on first. At most `BUFFER_BYTES`. */
  readonly head?: Uint8Array | undefined;
  /** `head` was all there is. */
  readonly ended?: boolean;
  /** Is told after each piece how many bytes were read since the start. */
  readonly progress?: ((bytes: number) => void) | undefined;
}

export interface PipelineResult {
  /** Bytes taken from the input, those of `head` not counted. */
  readonly read: number;
}

/** Pumps until the end of the input. Does not open, commit or close anything. */
export async function pump(input: Input, output: Output, options: PipelineOptions): Promise<PipelineResult> {
  const { transform, decoder, encoder, progress } = options;
  const free: Slot[] = [];
  for (let i = 0; i < BUFFERS; i++) {
    free.push({ buffer: new Uint8Array(FRONT + BUFFER_BYTES + TAILROOM) });
  }
  const writer = new Writer(output, (slot) => {
    free.push(slot);
  });

  /** Decodes, transforms and encodes bytes `[FRONT, FRONT + bytes)` of the slot and hands the result to the writer. */
  const process = (slot: Slot, bytes: number, decoding: boolean): void => {
    const { buffer } = slot;
    let start = FRONT;
    let end = FRONT + bytes;
    if (decoding && decoder) {
      // Decoded text is shorter than the text and starts 8 bytes before it, so that it never overtakes it.
      start = FRONT - 8;
      end = start + decoder.update(buffer.subarray(FRONT, end), buffer.subarray(start));
    }
    if (transform) ({ start, end } = transform.update(buffer, start, end));
    if (encoder) {
      slot.text ??= new Uint8Array(Base64Encoder.outputBytes(BUFFER_BYTES + HEADROOM));
      writer.push(slot, slot.text.subarray(0, encoder.update(buffer.subarray(start, end), slot.text)));
    } else {
      writer.push(slot, buffer.subarray(start, end));
    }
  };

  let read = 0;
  let pending: Promise<number> | undefined;
  try {
    if (options.head && options.head.length > 0) {
      const slot = free.pop() as Slot;
      slot.buffer.set(options.head, FRONT);
      process(slot, options.head.length, false);
    }
    let slot = free.pop() ?? (await writer.slot(free));
    if (!options.ended) pending = input.read(slot.buffer, FRONT, BUFFER_BYTES);
    while (pending) {
      const bytes = await pending;
      pending = undefined;
      if (bytes === 0) break;
      read += bytes;
      const full = slot;
      // The next read starts before the cipher does: both take as long as it takes.
      slot = free.pop() ?? (await writer.slot(free));
      pending = input.read(slot.buffer, FRONT, BUFFER_BYTES);
      process(full, bytes, true);
      progress?.(read);
      if (writer.failed) break;
    }
    await writer.drained();
    finish(slot, writer, options);
    await writer.drained();
  } catch (error) {
    // The read that is under way is left alone: the input may be a terminal at which nobody types.
    pending?.catch(() => {});
    await writer.settled();
    throw error;
  } finally {
    for (const slot of free) slot.buffer.fill(0);
  }
  return { read };
}

function finish(slot: Slot, writer: Writer, { transform, decoder, encoder }: PipelineOptions): void {
  const { buffer } = slot;
  let start = FRONT;
  let end = FRONT;
  if (decoder) {
    end += decoder.final(buffer.subarray(FRONT));
    if (transform) {
      ({ start, end } = transform.update(buffer, start, end));
    }
  }
  if (transform) {
    const last = transform.final(buffer, end + HEADROOM);
    // What `update` has just released and what `final` adds are side by side again.
    buffer.copyWithin(end, last.start, last.end);
    end += last.end - last.start;
  }
  if (encoder) {
    const text = new Uint8Array(Base64Encoder.outputBytes(end - start));
    let written = encoder.update(buffer.subarray(start, end), text);
    written += encoder.final(text.subarray(written));
    writer.push(slot, text.subarray(0, written));
  } else {
    writer.push(slot, buffer.subarray(start, end));
  }
}

/** Writes in order, one call at a time, and gives the slots back. What has piled up meanwhile goes in one call. */
class Writer {
  readonly #output: Output;
  readonly #release: (slot: Slot) => void;
  #queue: { readonly slot: Slot; readonly view: Uint8Array }[] = [];
  #running: Promise<void> | undefined;
  #error: unknown;
  failed = false;
  #wake: (() => void) | undefined;

  constructor(output: Output, release: (slot: Slot) => void) {
    this.#output = output;
    this.#release = release;
  }

  push(slot: Slot, view: Uint8Array): void {
    this.#queue.push({ slot, view });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const batch = this.#queue;
        this.#queue = [];
        await this.#output.write(batch.map((item) => item.view));
        for (const item of batch) this.#release(item.slot);
        this.#wake?.();
      }
    } catch (error) {
      this.#error = error;
      this.failed = true;
      this.#wake?.();
    } finally {
      this.#running = undefined;
    }
  }

  /** Waits for a slot to come back. */
  async slot(free: Slot[]): Promise<Slot> {
    for (;;) {
      const slot = free.pop();
      if (slot) return slot;
      if (this.failed) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  /** Waits until everything is written; throws what went wrong. */
  async drained(): Promise<void> {
    while (this.#running) await this.#running;
    if (this.failed) throw this.#error;
  }

  async settled(): Promise<void> {
    while (this.#running) await this.#running;
  }
}
