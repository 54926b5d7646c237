/** What to do about it, with the exact commands, for OpenWrt, Debian and its kin, and systems built with Buildroot. */
import type { Engine } from './engines.js';
import type { Step } from './finding.js';

/** Modules keep their names with `_`; files and modprobe take either. */
export function loadDriver(engine: Engine): Step[] {
  const [module = ''] = engine.modules;
  return [
    {
      system: 'openwrt',
      text:
        engine.openwrt === undefined
          ? `OpenWrt has no package of this driver: it is in the target's kernel or in nobody's; look for it among the modules`
          : 'Install the driver (with apk instead of opkg on OpenWrt 25 and later)',
      commands:
        engine.openwrt === undefined
          ? [`find /lib/modules -name '*${module.replaceAll('_', '?')}*'`, `modprobe ${module}`]
          : [`opkg update && opkg install ${engine.openwrt}`, `apk add ${engine.openwrt}`],
    },
    {
      system: 'debian',
      text: 'Load the driver, now and at every start',
      commands: [
        ...(engine.firmware === undefined ? [] : [`apt install ${engine.firmware.split(' ')[0]}`]),
        `modprobe ${module}`,
        `echo ${module} > /etc/modules-load.d/crypto-engine.conf`,
      ],
    },
    {
      system: 'buildroot',
      text: `Turn ${engine.config} on in the kernel's configuration`,
      commands: [
        'make linux-menuconfig   # Cryptographic API, Hardware crypto devices',
        `modprobe ${module}`,
      ],
    },
    { text: 'Look whether it has registered', commands: ['cat /proc/crypto'] },
  ];
}

export const OPEN_CRYPTODEV: readonly Step[] = [
  {
    system: 'openwrt',
    text: 'Install cryptodev and the engine of OpenSSL for it',
    commands: ['opkg update && opkg install kmod-cryptodev libopenssl-devcrypto', 'ls -l /dev/crypto'],
  },
  {
    system: 'debian',
    text: 'cryptodev-linux is no package of Debian: build it from its sources against the kernel’s headers',
    commands: [
      'apt install build-essential git linux-headers-$(uname -r)',
      'git clone https://github.com/cryptodev-linux/cryptodev-linux && make -C cryptodev-linux && make -C cryptodev-linux install',
      'modprobe cryptodev',
    ],
  },
  {
    system: 'buildroot',
    text: 'Turn BR2_PACKAGE_CRYPTODEV_LINUX on',
    commands: ['make menuconfig   # Target packages, Hardware handling', 'modprobe cryptodev'],
  },
];

export const USE_DEVCRYPTO: readonly Step[] = [
  {
    system: 'openwrt',
    text: 'Turn the engine on; its options are in /etc/ssl/modules.cnf.d/devcrypto.cnf (before OpenWrt 23.05 in /etc/ssl/engines.cnf.d)',
    commands: [
      'uci set openssl.devcrypto=engine',
      "uci set openssl.devcrypto.enabled='1'",
      'uci commit openssl',
      '/etc/init.d/openssl restart',
      'openssl engine -t -c devcrypto',
    ],
  },
  {
    text: 'Or give it to one program, with a configuration of its own (`hwcrypt openssl --config cnf` writes one for what was measured)',
    commands: ['OPENSSL_CONF=/etc/ssl/with-engine.cnf program'],
  },
];

export const MEASURE: Step = {
  text: 'Measure both by the clock on the wall, through EVP',
  commands: [
    'openssl speed -elapsed -evp aes-128-cbc',
    'openssl speed -elapsed -evp aes-128-cbc -engine devcrypto',
  ],
};

/** For disks whose owner can afford to make them anew. */
export function largerSectors(cipher?: string): Step[] {
  return [
    {
      text: 'With a backup at hand; the file system must have blocks of 4096 bytes or more, and device and offset must be multiples of 4096',
      commands: ['cryptsetup reencrypt --sector-size 4096 DEVICE'],
    },
    {
      text: 'Instead, for a new disk and no other, since everything on it is lost',
      commands: [
        `cryptsetup luksFormat --type luks2 --sector-size 4096${cipher === undefined ? '' : ` -c ${cipher}`} DEVICE`,
      ],
    },
    {
      text: 'See what it would bring before that, as root on a machine with Node',
      commands: ['hwcrypt benchmark --disk'],
    },
  ];
}
