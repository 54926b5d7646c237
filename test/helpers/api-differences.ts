/**
 * Every way in which hwcrypt answers otherwise than node:crypto on purpose. Each is a heading's id in docs/node-crypto.md,
 * where the reason stands; the differential tests let nothing pass that is not in this list.
 */
import type { Failure, Outcome } from './api-outcome.js';

/** The call that was made on both sides, and what went before it on this object. */
export interface Call {
  readonly kind: 'cipher' | 'hash' | 'hmac';
  /** The algorithm's mode (`gcm`, `cbc` …); empty for digests and where there is none. */
  readonly mode: string;
  readonly direction: 'encrypt' | 'decrypt';
  readonly method: string;
  /** Calls of `update` before, and those of them that had any text. */
  readonly updates: number;
  readonly textCalls: number;
  /** Calls of `setAAD` that were accepted before. */
  readonly aadCalls: number;
  /** Was there an `update` without text, this one included? */
  readonly empty: boolean;
  /** Did `update` throw before, of an object that was not at its end? */
  readonly refused: boolean;
  /** Did `final` throw before? */
  readonly finalFailed: boolean;
}

export interface Difference {
  /** `### … {#id}` in docs/node-crypto.md. */
  readonly id: string;
  readonly applies: (call: Call, node: Outcome, ours: Outcome) => boolean;
  /** Are the two objects in different states from here on, so that nothing can be compared any more? */
  readonly parts?: boolean;
}

const ADD_DATA = 'Trying to add data in unsupported state';
const UNAUTHENTIC = 'Unsupported state or unable to authenticate data';

/** The same failure, but for the code, which node:crypto leaves out. */
function coded(node: Failure | undefined, ours: Failure | undefined, message: string, code: string): boolean {
  return (
    node?.message === message &&
    node.code === undefined &&
    ours?.message.startsWith(message) === true &&
    ours.code === code &&
    ours.type === node.type &&
    ours.name === node.name
  );
}

export const DIFFERENCES: readonly Difference[] = [
  {
    id: 'auth-failed',
    applies: (_call, node, ours) => coded(node.error, ours.error, UNAUTHENTIC, 'AUTH_FAILED'),
  },
  {
    id: 'state-code',
    applies: (_call, node, ours) =>
      coded(node.error, ours.error, ADD_DATA, 'ERR_CRYPTO_INVALID_STATE') ||
      coded(node.error, ours.error, UNAUTHENTIC, 'ERR_CRYPTO_INVALID_STATE'),
  },
  {
    id: 'ccm-final',
    applies: (call, node, ours) =>
      call.mode === 'ccm' &&
      call.method === 'final' &&
      call.direction === 'decrypt' &&
      call.textCalls === 0 &&
      node.error === undefined &&
      ours.error?.code === 'AUTH_FAILED',
  },
  {
    id: 'xts-second-unit',
    applies: (call, _node, ours) =>
      call.mode === 'xts' &&
      call.method === 'update' &&
      call.textCalls > 0 &&
      ours.error?.code === 'XTS_STREAMING',
    parts: true,
  },
  {
    id: 'xts-empty-update',
    applies: (call, node, ours) =>
      call.mode === 'xts' &&
      call.method === 'update' &&
      call.empty &&
      node.error?.message === ADD_DATA &&
      (ours.error === undefined || /encoding/.test(ours.error.message)),
    parts: true,
  },
  {
    id: 'ocb-tag-of-none',
    applies: (call, node, ours) =>
      call.mode === 'ocb' &&
      call.method === 'create' &&
      node.error === undefined &&
      ours.error?.message === 'Invalid authentication tag length: 0',
  },
  {
    id: 'xts-short-unit',
    applies: (call, node, ours) =>
      call.mode === 'xts' && node.error?.message === ADD_DATA && ours.error?.code === 'PARTIAL_BLOCK',
  },
  {
    id: 'late-aad',
    applies: (call, node, ours) =>
      (call.mode === 'stream' || call.mode === 'ccm') &&
      call.method === 'setAAD' &&
      call.updates > 0 &&
      node.error === undefined &&
      ours.error?.code === 'ERR_CRYPTO_INVALID_STATE',
    parts: true,
  },
  {
    // As Node 20 has it.
    id: 'ccm-nothing-encrypted',
    applies: (call, node, ours) =>
      call.mode === 'ccm' &&
      call.method === 'final' &&
      call.direction === 'encrypt' &&
      call.updates === 0 &&
      (node.error === undefined || node.error.message === UNAUTHENTIC) &&
      ours.error?.code === 'ERR_OSSL_TAG_NOT_SET',
    parts: true,
  },
  {
    id: 'ccm-empty-update',
    applies: (call) => call.mode === 'ccm' && call.empty,
    parts: true,
  },
  {
    id: 'ccm-refusal',
    applies: (call, _node, ours) =>
      call.mode === 'ccm' &&
      call.direction === 'decrypt' &&
      call.method === 'update' &&
      ours.error?.code === 'ERR_CRYPTO_INVALID_STATE',
  },
  {
    id: 'ccm-after-refusal',
    applies: (call) => call.mode === 'ccm' && call.refused,
    parts: true,
  },
  {
    id: 'ccm-second-aad',
    applies: (call, node, ours) =>
      call.mode === 'ccm' &&
      call.method === 'setAAD' &&
      call.aadCalls > 0 &&
      node.error === undefined &&
      ours.error?.code === 'ERR_CRYPTO_INVALID_STATE',
    parts: true,
  },
  {
    id: 'tag-after-failed-final',
    applies: (call, node, ours) =>
      call.method === 'getAuthTag' &&
      call.finalFailed &&
      node.error === undefined &&
      ours.error?.code === 'ERR_CRYPTO_INVALID_STATE',
  },
  {
    id: 'change-of-encoding',
    applies: (_call, node, ours) =>
      ours.error?.message === 'Cannot change encoding' &&
      (node.error?.code === 'ERR_INTERNAL_ASSERTION' || node.error?.code === 'ERR_INVALID_ARG_VALUE'),
  },
];

/** Those that no pair of answers shows: they are tested one by one, in api-lockstep.ts (OCB) and test/unit/api. */
export const OTHER_DIFFERENCES: readonly string[] = [
  'ocb-in-one-piece',
  'stream-errors',
  'hash-after-stream',
  'destroyed',
  'detached',
  'long-input',
  'pooled-results',
  'own-names',
  'tag-length-type',
  'function-lengths',
];
