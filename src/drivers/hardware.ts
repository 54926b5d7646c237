/**
 * Does a kernel driver's work leave the CPU? A verdict with its evidence, from the driver's name, its module and where
 * that lies in the kernel tree, and the flags that NETLINK_CRYPTO reports.
 *
 * No single flag can be trusted: virtio-crypto and QAT lack KERN_DRIVER_ONLY, cryptd is asynchronous software, NEON and AES-CE
 * code has a high priority and runs on the CPU. Names decide where they are known; an unknown driver needs two
 * independent signs. Names were read in the sources of Linux 4.9 to 6.18 and of the out-of-tree drivers named below.
 */
import { CRYPTO_ALG } from '../linux/netlink.js';

export interface HardwareSubject {
  /** `cra_driver_name`. */
  readonly driver: string;
  readonly module?: string | undefined;
  /** Path of the module's file below /lib/modules/RELEASE, e.g. `kernel/drivers/crypto/virtio/virtio_crypto.ko`. */
  readonly modulePath?: string | undefined;
  readonly priority?: number | undefined;
  /** `cra_flags` from netlink, where known. */
  readonly flags?: number | undefined;
  /** From /proc/crypto, where flags are not known. */
  readonly async?: boolean | undefined;
}

export interface HardwareVerdict {
  readonly hardware: 'yes' | 'no' | 'unknown';
  /** One fact each, the deciding one first. */
  readonly evidence: readonly string[];
  /** The engine, where its name is known. */
  readonly engine?: string;
  /** Only a part of the work leaves the CPU: `xts(ecb-aes-caam)`. */
  readonly partly?: true;
}

/** Engines by the names of their drivers. The first that matches counts. */
const ENGINES: readonly (readonly [pattern: RegExp, engine: string])[] = [
  [/eip93/, 'EIP-93 (MediaTek MT7621, Airoha)'],
  [/^safexcel-/, 'Inside Secure SafeXcel (EIP-97, EIP-197)'],
  [/-mt7628$/, 'MediaTek MT7628/MT7688 AES engine'],
  [/^mtk-|-mtk$/, 'MediaTek EIP-97'],
  [/-caam(-qi2?)?$|^(?:tk-|)caam-/, 'NXP CAAM'],
  [/^mv-/, 'Marvell CESA'],
  [/^virtio_crypto_|^virtio-crypto-/, 'virtio-crypto (the host does the work)'],
  [/^qat_|^qat-/, 'Intel QuickAssist'],
  [/^sahara-/, 'NXP SAHARA'],
  [/-dcp$/, 'NXP DCP (mxs-dcp)'],
  [/^stm32-/, 'STMicroelectronics STM32'],
  [/-sa2ul$/, 'TI SA2UL'],
  [/-dthe(?:v2)?$|^dthe/, 'TI DTHE'],
  [/-omap$|^omap-/, 'TI OMAP'],
  [/^hisi_sec|^hisi-/, 'HiSilicon SEC'],
  [/-ccree$|^ccree-/, 'Arm CryptoCell (ccree)'],
  [/^atmel-/, 'Microchip/Atmel'],
  [/-rk$|^rk-|^rk2-|-rk2$/, 'Rockchip'],
  [/-sun4i-ss$|^sun4i_ss_rng$/, 'Allwinner sun4i-ss'],
  [/-sun8i-(?:ce|ss)$|^sun8i-(?:ce|ss)-/, 'Allwinner sun8i-ce/ss'],
  [/-ppc4xx$/, 'AMCC crypto4xx'],
  [/-talitos$|^talitos-/, 'Freescale Talitos (SEC)'],
  [/-nx$|^nx-/, 'IBM NX'],
  [/-ux500$|^ux500-/, 'ST-Ericsson UX500'],
  [/-iproc$|^bcm-spu|-spu$/, 'Broadcom SPU'],
  [/-s5p$|^s5p-|^exynos-/, 'Samsung S5P/Exynos'],
  [/^keembay-ocs-/, 'Intel Keem Bay OCS'],
  [/zynqmp|^xilinx-|^versal-/, 'AMD/Xilinx ZynqMP'],
  [/-gxl$|^gxl-/, 'Amlogic GXL'],
  [/^aspeed-/, 'ASPEED HACE'],
  [/^starfive-|-starfive$/, 'StarFive JH7110'],
  [/-tegra$|^tegra-/, 'NVIDIA Tegra SE'],
  [/-qce$|^qcrypto-/, 'Qualcomm QCE'],
  [/^ltqdeu[-_]/, 'Lantiq DEU'],
  [/-ccp$/, 'AMD CCP'],
  [/-chcr$/, 'Chelsio'],
  [/^cpt[-_]/, 'Marvell/Cavium CPT'],
  [/^n5_/, 'Cavium Nitrox'],
  [/-artpec6$|^artpec6?-|-artpec$/, 'Axis ARTPEC-6'],
  [/-sl3516$/, 'Cortina SL3516'],
  [/-ixp4xx$|^ixp4xx-/, 'Intel IXP4xx'],
  [/-picoxcell$/, 'Picochip SPAcc'],
  [/-hifn$|^hifn-/, 'HIFN 795x'],
  [/-geode$/, 'AMD Geode LX'],
  [/-n2$/, 'Sun Niagara 2 crypto unit'],
  [/^img-/, 'Imagination hash engine'],
  [/^spacc-|-spacc$/, 'Synopsys SPAcc'],
  [/^realtek-|-rtl-crypto$|-realtek-crypto$/, 'Realtek'],
  [/^meson-|^amlogic-/, 'Amlogic'],
  [/^jz4780-|^ingenic-/, 'Ingenic'],
  [/^nuvoton-|^npcm-/, 'Nuvoton'],
];

/** Code that runs on the CPU, by the names of its drivers. */
const ON_CPU: readonly (readonly [pattern: RegExp, what: string])[] = [
  [
    /[-_]generic$|^(?:ecb|cbc|digest|compress|cipher)[-_]null$|^(?:cipher_null|ecb-cipher_null|digest_null-generic)$/,
    'portable C code',
  ],
  [/-fixed-time$/, 'portable C code'],
  // crypto/sha256.c and its like since 6.16 are named after lib/crypto or after the architecture that it was built for.
  [
    /-lib$|-(?:powerpc|riscv|sparc|loongarch)$|^(?:sha\d+|crc\w+|x?chacha\d*|poly1305|blake2\w+)-(?:x86|arm|arm64)$/,
    'the kernel’s own library, software on the CPU',
  ],
  [/-aesni(?:-avx\w*)?$|-aesni-|^__.*aesni|-vaes-/, 'AES instructions of an x86 CPU'],
  [
    /-(?:avx|avx2|avx512\w*|avx10_\d+|ssse3|sse2|sse4\w*|i586|x86_64|x86|simd|asm|pclmul\w*|clmulni|ni|3way|4way|8way|16way|gfni\w*)(?:-|$)/,
    'vector or AES/SHA instructions of an x86 CPU',
  ],
  [
    /-(?:ce|neon|neonbs|arm64|arm|armv8|arm64-ce|neon-\w+|ce-\w+)$|-ce-|^(?:aes|sha\d*|ghash|crct10dif)-ce/,
    'NEON or cryptography instructions of an Arm CPU',
  ],
  [/-riscv64|^riscv64-|-zvk\w*$/, 'vector or scalar cryptography instructions of a RISC-V CPU'],
  [/-padlock(?:-nano)?$/, 'PadLock instructions of a VIA CPU'],
  [/-s390$/, 'CPACF instructions of an IBM Z CPU'],
  [/^p8_|-p8$|-p10$|-ppc(?:-spe)?$|-ppc-|^ppc-|-vpmsum$/, 'vector instructions of a POWER CPU'],
  [/-sparc64$|-octeon$|^octeon-|-lasx$|-lsx$|-loongarch$|-mips$/, 'instructions of the CPU'],
  [/^(?:drbg_|ansi_cprng|jitterentropy_rng|krng)/, 'a software random generator'],
];

/**
 * How modules of software are called: after an algorithm or a mode first (`sm4_ce`, `cbc`, `aes_arm_bs`), or after a helper of the crypto
 * API. A driver of a device is called after the device (`zx_crypto`, `hisi_sec2`).
 */
const SOFTWARE_MODULE =
  /^(?:lib)?(?:aes|aegis|sm[234]|sha|ghash|gf128|polyval|nh|poly|x?cha|curve|blake|blowfish|camellia|cast|serpent|twofish|aria|des|kuznyechik|streebog|crc|crct|xx|md[45]|rmd|wp512|tgr|anubis|khazad|tea|fcrypt|seed|rc4|arc4|salsa|ecb|cbc|ctr|xts|lrw|cts|cfb|ofb|pcbc|hctr|xctr|adiantum|gcm|ccm|authenc|hmac|cmac|xcbc|vmac|cbcmac|essiv|echainiv|seqiv|drbg|ansi|jitter|cryptd|mcryptd|pcrypt|simd|crypto|kernel|p8|p10|vmx|ppc|padlock|octeon|s390|paes|lz|zstd|deflate)/;

/** Wrappers that only change how a driver is called. */
const SCHEDULERS = /^(cryptd|mcryptd|pcrypt|simd)\(/;

/** The drivers that a template was built from: `gcm_base(ctr(aes-generic),ghash-generic)` → aes-generic, ghash-generic. */
export function leaves(driver: string): string[] {
  const match = /^[^(),]+\((.*)\)$/.exec(driver);
  if (!match) return [driver];
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  const inner = match[1] as string;
  for (let i = 0; i <= inner.length; i++) {
    const c = inner[i];
    if (c === '(') depth++;
    else if (c === ')') depth--;
    if (i === inner.length || (c === ',' && depth === 0)) {
      const part = inner.slice(start, i).trim();
      if (part !== '') parts.push(...leaves(part));
      start = i + 1;
    }
  }
  return parts.length === 0 ? [driver] : parts;
}

interface Named {
  readonly where: 'engine' | 'cpu';
  readonly what: string;
}

function byName(driver: string): Named | undefined {
  for (const [pattern, engine] of ENGINES) if (pattern.test(driver)) return { where: 'engine', what: engine };
  for (const [pattern, what] of ON_CPU) if (pattern.test(driver)) return { where: 'cpu', what };
  return undefined;
}

/** Engines whose own driver names have brackets, so that `cbc(aes-eip93)` is not a template around a part of it. */
const WHOLE = /eip93|^hisi_sec|^n5_|-ixp4xx$|^ltqdeu[-_]/;

export function judgeHardware(subject: HardwareSubject): HardwareVerdict {
  const { driver, flags, modulePath } = subject;
  const scheduled = SCHEDULERS.exec(driver)?.[1];
  const notes: string[] = [];
  if (scheduled) notes.push(`${scheduled} only queues the work: it is asynchronous and not hardware`);

  if (WHOLE.test(driver)) {
    const named = byName(driver);
    if (named?.where === 'engine') {
      return {
        hardware: 'yes',
        engine: named.what,
        evidence: [`the name ${driver} is that of ${named.what}`, ...signs(subject).texts, ...notes],
      };
    }
  }

  const parts = leaves(driver);
  const named = parts.map((part) => ({ part, named: byName(part) }));
  const engines = named.filter((it) => it.named?.where === 'engine');
  if (engines.length > 0) {
    const [first] = engines as [(typeof engines)[number], ...typeof engines];
    const template = !scheduled && driver !== first.part;
    const engine = (first.named as Named).what;
    return {
      hardware: 'yes',
      engine,
      ...(template ? { partly: true as const } : {}),
      evidence: [
        template
          ? `partly: ${first.part} is ${engine}, the rest of ${driver} runs on the CPU`
          : `the name ${first.part} is that of ${engine}`,
        ...signs(subject).texts,
        ...notes,
      ],
    };
  }
  if (named.every((it) => it.named?.where === 'cpu')) {
    return {
      hardware: 'no',
      evidence: [...new Set(named.map((it) => `${it.part} is ${(it.named as Named).what}`)), ...notes],
    };
  }

  // A name that nobody has told us about: two independent signs make a verdict, one does not. A template's module is not its parts' one.
  const { count, texts } = signs(scheduled ? { driver, modulePath } : subject);
  const unknown = named.filter((it) => !it.named).map((it) => it.part);
  const heading = `${unknown.join(', ')} is not a name that hwcrypt knows`;
  if (count >= 2) return { hardware: 'yes', evidence: [heading, ...texts, ...notes] };
  if (count === 0 && (flags !== undefined || (subject.async === false && modulePath !== undefined))) {
    return {
      hardware: 'no',
      evidence: [heading, 'it is synchronous, allocates nothing and is not marked as kernel-only', ...notes],
    };
  }
  return { hardware: 'unknown', evidence: [heading, ...texts, ...notes] };
}

function namesDevice(module: string | undefined): boolean {
  return (
    module !== undefined && /^[a-z]\w*$/i.test(module.replaceAll('-', '_')) && !SOFTWARE_MODULE.test(module)
  );
}

/** Signs of hardware apart from the name. Each that is independent of the others counts one. */
function signs(subject: HardwareSubject): { count: number; texts: string[] } {
  const texts: string[] = [];
  let count = 0;
  const { flags } = subject;
  if (flags !== undefined && (flags & CRYPTO_ALG.KERN_DRIVER_ONLY) !== 0) {
    count++;
    texts.push('its flags say KERN_DRIVER_ONLY');
  }
  const async = flags === undefined ? subject.async === true : (flags & CRYPTO_ALG.ASYNC) !== 0;
  if (async) {
    count++;
    texts.push('it is asynchronous');
  }
  if (flags !== undefined && (flags & CRYPTO_ALG.ALLOCATES_MEMORY) !== 0) {
    count++;
    texts.push('it allocates memory for each request, as engines with descriptors do');
  }
  if (subject.modulePath?.includes('drivers/crypto/')) {
    count++;
    texts.push(`its module lies under drivers/crypto: ${subject.modulePath}`);
  } else if (subject.modulePath === undefined && async && namesDevice(subject.module)) {
    count++;
    texts.push(`its module ${subject.module} is called after a device, not after an algorithm`);
  }
  return { count, texts };
}
