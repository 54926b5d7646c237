/**
 * A Transform that becomes a stream only when it is used as one.
 *
 * Most ciphers and hashes are used through `update` and `final` alone, and setting up the two stream states costs more
 * than encrypting a short message. node:crypto puts it off in the same way; programs that look at `_readableState`
 * see no difference.
 */
import { createHash } from 'node:crypto';
import { Transform, type TransformOptions } from 'node:stream';

const STATES = ['_readableState', '_writableState'] as const;

interface Lazy {
  _options?: TransformOptions | undefined;
}

// A function and not a class: a class would have to call Transform's constructor first thing.
function LazyTransformBase(this: Lazy, options?: TransformOptions): void {
  this._options = options;
}
Object.setPrototypeOf(LazyTransformBase.prototype, Transform.prototype);
Object.setPrototypeOf(LazyTransformBase, Transform);

for (const state of STATES) {
  Object.defineProperty(LazyTransformBase.prototype, state, {
    configurable: true,
    enumerable: true,
    get(this: Record<string, unknown> & Lazy) {
      become(this);
      return this[state];
    },
    set(this: object, value: unknown) {
      Object.defineProperty(this, state, { value, configurable: true, enumerable: true, writable: true });
    },
  });
}

let known: { encoding: string | undefined } | undefined;

/** The `defaultEncoding` that the running Node gives its own ciphers: `buffer` before Node 24, whose streams refuse that. */
function nodesDefault(): string | undefined {
  if (known === undefined) {
    const own = createHash('sha256') as unknown as { _writableState?: { defaultEncoding?: string } };
    known = { encoding: own._writableState?.defaultEncoding };
  }
  return known.encoding;
}

function become(self: Record<string, unknown> & Lazy): void {
  // Plain properties first, so that the constructor's own assignments do not come back to the accessors.
  for (const state of STATES) {
    Object.defineProperty(self, state, {
      value: undefined,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
  try {
    (Transform as unknown as (this: object, options?: TransformOptions) => void).call(self, self._options);
  } catch (error) {
    // A wrong option is told of at every use.
    for (const state of STATES) delete self[state];
    throw error;
  }
  // Text is handed to update() with its encoding, as node:crypto does.
  const writable = self['_writableState'] as { decodeStrings?: boolean; defaultEncoding?: string };
  writable.decodeStrings = false;
  const encoding = nodesDefault();
  if (encoding !== undefined && !self._options?.defaultEncoding) writable.defaultEncoding = encoding;
}

export const LazyTransform = LazyTransformBase as unknown as new (options?: TransformOptions) => Transform;
