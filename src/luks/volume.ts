/**
 * An image that a passphrase opened: what its plaintext is, and the key to it.
 *
 * Room `luks`.
 */
import { type Fallback, Router } from '../routing/router.js';
import { Device } from './device.js';
import type { LuksHeader } from './header/model.js';
import { readHeader } from './header/read.js';
import type { KdfLimits } from './keyslot/kdf.js';
import { requireMet, unlock } from './keyslot/unlock.js';
import type { CopyTask, Routing } from './payload/chunks.js';
import { copy } from './payload/copy.js';
import { Payload } from './payload/payload.js';
import { type PayloadPlan, planOf } from './payload/plan.js';

export interface OpenOptions {
  readonly image: string;
  /** Where the header is a file of its own. */
  readonly header?: string | undefined;
  /** Who writes has the image alone; `serve` reads for long, and nobody writes meanwhile. */
  readonly access?: 'read' | 'serve' | 'write';
  readonly keyslot?: number | undefined;
  /** Is asked once the header is known to be one. It is wiped here. */
  readonly passphrase: () => Promise<Buffer>;
  /** Default: one of `routing`'s. */
  readonly router?: Router;
  /** What `router` was made of, for the routers of other threads. */
  readonly routing?: Routing;
  readonly limits: KdfLimits;
}

export class Volume {
  readonly header: LuksHeader;
  readonly device: Device;
  readonly plan: PayloadPlan;
  /** Which keyslot opened. */
  readonly keyslot: number;
  readonly payload: Payload;
  readonly #key: Buffer;
  readonly #routing: Routing;
  readonly #router: Router;
  /** Who did what was copied. */
  readonly #copied = new Set<string>();

  private constructor(
    header: LuksHeader,
    device: Device,
    plan: PayloadPlan,
    { keyslot, volumeKey }: { keyslot: number; volumeKey: Buffer },
    routing: Routing,
    router: Router,
  ) {
    this.header = header;
    this.device = device;
    this.plan = plan;
    this.keyslot = keyslot;
    this.#key = volumeKey;
    this.#routing = routing;
    this.#router = router;
    this.payload = new Payload(plan, device, volumeKey, router);
  }

  /** @throws HwcryptError: no image, damaged, not supported, wrong passphrase, too dear */
  static async open(options: OpenOptions): Promise<Volume> {
    const { routing = {}, router = new Router(routing) } = options;
    const device = Device.open(options.image, options.access === 'write' ? 'alone' : 'read');
    let detached: Device | undefined;
    try {
      if (options.access === 'write') device.lock('exclusive');
      else if (options.access === 'serve') device.lock('shared');
      detached = options.header === undefined ? undefined : Device.open(options.header);
      const source = detached ?? device;
      const header = readHeader(source);
      requireMet(header);
      const passphrase = await options.passphrase();
      let unlocked: Awaited<ReturnType<typeof unlock>>;
      try {
        // Keyslots have ciphers of their own, which a driver that was pinned for the data need not have.
        unlocked = await unlock(source, header, { ...options, router: new Router(), passphrase });
      } finally {
        passphrase.fill(0);
      }
      try {
        const plan = planOf(header, unlocked.digest, device.bytes, device.name);
        return new Volume(header, device, plan, unlocked, routing, router);
      } catch (error) {
        unlocked.volumeKey.fill(0);
        throw error;
      }
    } catch (error) {
      device.close();
      throw error;
    } finally {
      detached?.close();
    }
  }

  get bytes(): number {
    return this.plan.bytes;
  }

  /** Who has done the work so far, or would, each once; empty where nothing is encrypted. */
  get doneBy(): readonly string[] {
    return this.#copied.size > 0 ? [...this.#copied] : this.payload.doneBy;
  }

  /** A range of the plaintext to a file, or a file into it, by all cores. */
  async copy(
    task: Pick<CopyTask, 'direction' | 'offset' | 'bytes' | 'file'>,
    progress?: (bytes: number) => void,
  ): Promise<void> {
    const { plan, device } = this;
    const volume = { fd: device.fd, name: device.name };
    const onFallback = (fallback: Fallback): void => this.#router.hear(fallback);
    const whole = { ...task, plan, volume, routing: this.#routing };
    for (const name of await copy(whole, this.#key, { progress, onFallback })) this.#copied.add(name);
  }

  close(): void {
    this.payload.close();
    this.#key.fill(0);
    this.device.close();
  }
}
