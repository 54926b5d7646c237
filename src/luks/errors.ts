/** The errors of disk images. Room `luks`. */
import { HwcryptError } from '../errors.js';

/** What stands on the disk is not what the format allows. */
export const damaged = (what: string, cause?: unknown): HwcryptError =>
  new HwcryptError('LUKS_DAMAGED', what, cause === undefined ? {} : { cause });

/** What stands on the disk is legal, and not done here. */
export const unsupported = (what: string): HwcryptError => new HwcryptError('LUKS_UNSUPPORTED', what);
