/**
 * Errors that OpenSSL would have raised where hwcrypt does OpenSSL's work itself (padding, state), in the form that
 * node:crypto gives them: same message, `library`, `reason` and `code`.
 */

/** ERR_PACK(ERR_LIB_PROV, 0, reason); reasons from openssl/proverr.h. */
const PROVIDER = 0x1c800000;

function providerError(reason: number, text: string): Error & { code: string } {
  const number = (PROVIDER | reason).toString(16).toUpperCase();
  return Object.assign(new Error(`error:${number}:Provider routines::${text}`), {
    library: 'Provider routines',
    reason: text,
    code: `ERR_OSSL_${text.toUpperCase().replaceAll(' ', '_')}`,
  });
}

export const badDecrypt = (): Error => providerError(100, 'bad decrypt');
export const wrongFinalBlockLength = (): Error => providerError(107, 'wrong final block length');
export const tagNotSet = (): Error => providerError(119, 'tag not set');

/** EVP_R_NOT_XOF_OR_INVALID_LENGTH, of the EVP library. */
export function notXof(): Error {
  return Object.assign(new Error('error:030000B2:digital envelope routines::not XOF or invalid length'), {
    library: 'digital envelope routines',
    reason: 'not XOF or invalid length',
    code: 'ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH',
  });
}
