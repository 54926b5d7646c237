/**
 * Room `kdf`: from a passphrase to a key, the ways LUKS does it: PBKDF2 and Argon2, off the event loop.
 *
 * May import: `linux`, `errors`. What OpenSSL's `enc` does with passphrases is in `enc`; this room knows no files and no formats.
 */
export {
  type Argon2,
  type Argon2Cost,
  type Argon2Kind,
  argon2,
  argon2By,
  type Derived,
} from './argon2.js';
export { pbkdf2, pbkdf2By } from './pbkdf2.js';
