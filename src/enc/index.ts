/**
 * Room `enc`: OpenSSL's file format (`openssl enc`), read and written, from file to file at the speed of the disk.
 *
 * May import: `api`, `routing`, `drivers`, `linux`, `files`, `algorithms`, `errors`. It knows files, passphrases and base64; it
 * prints nothing and reads no command line.
 */
export { type Candidate, candidates, type Fit } from './autokdf.js';
export { Base64Decoder, Base64Encoder } from './base64.js';
export { findCipher, requireEncCipher } from './ciphers.js';
export { FileDigester } from './digest-file.js';
export { type ExplainOptions, type Explanation, explainFile } from './explain.js';
export {
  bytesToKey,
  DEFAULT_ITERATIONS,
  deriveKey,
  type Kdf,
  type KeyAndIv,
  kdfOptions,
  legacyKeyFromPassword,
  pbkdf2Key,
  requireDigest,
  resolveDigest,
} from './kdf.js';
export { type EncHooks, type EncOptions, type EncResult, runEnc } from './run.js';
