/** One suite over node:crypto itself, and over hwcrypt with every driver of this machine. The kernel's are tested in the guest. */
import * as nodeCrypto from 'node:crypto';
import { type CryptoApi, instance, wholeModule } from '../../helpers/api-shape.js';
import { apiSuite } from '../../helpers/api-suite.js';

apiSuite('node:crypto', nodeCrypto as unknown as CryptoApi);
apiSuite('hwcrypt', wholeModule, { driver: 'libcrypto' });
apiSuite('the libcrypto driver', instance({ drivers: 'libcrypto' }), { driver: 'libcrypto' });
apiSuite('the node driver', instance({ drivers: 'node' }), { driver: 'node' });
