/** What a run in a guest is asked for and what comes back. */

export type GuestKind = 'uml' | 'qemu';

export interface GuestOptions {
  readonly kind: GuestKind;
  /** Program and arguments, run in the project's folder; found on the host's PATH, `node` being this very node. */
  readonly command: readonly string[];
  /** Added to a small clean environment (PATH, HOME, LANG, TERM=dumb, HWCRYPT_RIG, HWCRYPT_RESULTS). */
  readonly env?: Readonly<Record<string, string>>;
  /** Modules to load before the command. af_alg and the algif modules load themselves. */
  readonly modules?: readonly string[];
  /** Lines for the guest's modprobe.d, e.g. `install algif_skcipher /bin/false`. The host's own files are not seen. */
  readonly modprobeConf?: readonly string[];
  /** Guest memory in MiB. */
  readonly memoryMiB?: number;
  /** The guest is ended after this long, booting included. */
  readonly timeoutSeconds?: number;
  /** How long it may take to reach the command. */
  readonly bootTimeoutSeconds?: number;
  /** The one folder of the host that the guest can write to. Made where it does not exist. */
  readonly resultsFolder?: string;
  /** `inherit` (the default) streams to this process's own; `capture` keeps it in the result. */
  readonly output?: 'inherit' | 'capture';
  /** Called with every piece of the kernel's console, for --verbose. */
  readonly onConsole?: (text: string) => void;
  /** Ends the guest early. */
  readonly signal?: AbortSignal;
  /** qemu: `-cpu`; default `max`. */
  readonly cpu?: string;
  /** qemu: is there a virtio-crypto device? Default true. */
  readonly accelerator?: boolean;
  /** qemu: number of processors; default 1. */
  readonly processors?: number;
}

export type GuestOutcome =
  /** The command ended by itself. */
  | 'exited'
  /** The time was up: status 124. */
  | 'timeout'
  /** The abort signal ended it: status 130. */
  | 'aborted'
  /** The guest died, or could not be started or set up: status 125. */
  | 'failed';

export interface GuestResult {
  readonly outcome: GuestOutcome;
  /** The command's exit status (128 + n for signal n), or 124, 130, 125 as above. */
  readonly status: number;
  /** Why, where the outcome is not `exited`. */
  readonly message?: string;
  /** Empty unless `output` is `capture`. */
  readonly stdout: string;
  readonly stderr: string;
  /** The end of what the kernel wrote to its console. */
  readonly console: string;
  readonly resultsFolder: string;
  /** Elapsed milliseconds until the command started; undefined where it never did. */
  readonly bootMs?: number;
  readonly elapsedMs: number;
}

/** The rig cannot run here: something is not installed. Names what and the cure. */
export class RigUnavailableError extends Error {
  override readonly name = 'RigUnavailableError';
}
