/**
 * What is known of crypto engines: how a device shows itself, which driver it needs, and what that driver offers. Facts of Linux 4.9 to 7.x (drivers/crypto,
 * their Kconfig and binding documents) and of OpenWrt's packages; a mode that is not listed may come with a newer driver, so /proc/crypto counts more.
 */

export interface Engine {
  readonly id: string;
  /** As `judgeHardware` calls it, or how people do. */
  readonly name: string;
  /** Begins the `engine` of a verdict. */
  readonly verdict: RegExp;
  /** In a device tree's `compatible`, a platform device's name or a line of the kernel's log. */
  readonly compatible?: RegExp;
  /** Vendor and device in hexadecimal: `8086:4940`. */
  readonly pci?: RegExp;
  /** Words of the kernel's log that only its driver prints. */
  readonly log?: RegExp;
  /** Linux modules, the one to load first. */
  readonly modules: readonly string[];
  readonly config: string;
  /** OpenWrt's package; absent where the driver is built into the target's kernel, or there is none. */
  readonly openwrt?: string;
  /** Debian's package of the firmware, where one is needed. */
  readonly firmware?: string;
  /** Modes of AES that the driver has, as far as is known. */
  readonly aes: readonly string[];
  /** Drivers that allocate memory for each request: dm-crypt passes them over from Linux 5.9 on. */
  readonly allocates?: true;
}

export const ENGINES: readonly Engine[] = [
  {
    id: 'eip93',
    name: 'EIP93',
    verdict: /^EIP-93/,
    compatible: /mtk-eip93|safexcel-eip93|\beip93\b/i,
    log: /\bEIP93 Crypto Engine|EIP\d{2,3}:.{0,40}PE\(/,
    modules: ['crypto_hw_eip93', 'crypto-hw-eip93', 'inside-secure-eip93'],
    config: 'CONFIG_CRYPTO_DEV_EIP93',
    openwrt: 'kmod-crypto-hw-eip93',
    aes: ['ecb', 'cbc', 'ctr'],
  },
  {
    id: 'mt7628',
    name: 'MT7628/MT7688 AES engine',
    verdict: /^MediaTek MT7628/,
    compatible: /mediatek,mtk-aes\b|\bmt7628-(?:aes|crypto)|\b10004000\.crypto\b/i,
    log: /\bmtk-aes\b/,
    modules: ['crypto_hw_mt7628_aes', 'mtk-aes'],
    config: 'CONFIG_CRYPTO_DEV_MT7628_AES',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'safexcel',
    name: 'SafeXcel EIP97/EIP197',
    verdict: /^Inside Secure SafeXcel/,
    compatible: /safexcel-eip(?:97|197)|\beip197?b?\b|\beip97/i,
    log: /\bcrypto-safexcel\b/,
    modules: ['crypto_safexcel'],
    config: 'CONFIG_CRYPTO_DEV_SAFEXCEL',
    openwrt: 'kmod-crypto-hw-safexcel',
    firmware: 'firmware-misc-nonfree (inside-secure/eip197b)',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm', 'ccm'],
  },
  {
    id: 'mtk',
    name: 'MediaTek EIP97',
    verdict: /^MediaTek EIP-97/,
    compatible: /mediatek,eip97-crypto|mediatek,mt7623-crypto/i,
    modules: ['mtk_crypto'],
    config: 'CONFIG_CRYPTO_DEV_MEDIATEK',
    openwrt: 'kmod-crypto-hw-mtk',
    aes: ['ecb', 'cbc', 'ctr', 'gcm'],
  },
  {
    id: 'cesa',
    name: 'Marvell CESA',
    verdict: /^Marvell CESA/,
    compatible: /marvell,(?:orion|kirkwood|dove|armada-\w+)-crypto|\bmarvell-cesa\b/i,
    log: /\bmarvell-cesa\b|CESA device successfully registered/,
    modules: ['marvell_cesa'],
    config: 'CONFIG_CRYPTO_DEV_MARVELL_CESA',
    openwrt: 'kmod-crypto-hw-marvell-cesa',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'caam',
    name: 'NXP CAAM',
    verdict: /^NXP CAAM/,
    compatible: /fsl,(?:imx\w+-caam|sec-v[45]\.\d|imx6ul-caam)|\bcaam\b/i,
    log: /\bcaam_jr\b|\bcaam algorithms registered|\bcaam \w+\.(?:crypto|caam)\b/,
    modules: ['caam_jr', 'caam'],
    config: 'CONFIG_CRYPTO_DEV_FSL_CAAM',
    openwrt: 'kmod-crypto-hw-caam',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm'],
  },
  {
    id: 'dcp',
    name: 'NXP DCP',
    verdict: /^NXP DCP/,
    compatible: /fsl,imx\w{2,6}-dcp\b|\bmxs-dcp\b/i,
    modules: ['mxs_dcp'],
    config: 'CONFIG_CRYPTO_DEV_MXS_DCP',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'sahara',
    name: 'NXP SAHARA',
    verdict: /^NXP SAHARA/,
    compatible: /fsl,imx\w{2,4}-sahara|\bsahara\b/i,
    modules: ['sahara'],
    config: 'CONFIG_CRYPTO_DEV_SAHARA',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'talitos',
    name: 'Freescale SEC (Talitos)',
    verdict: /^Freescale Talitos/,
    compatible: /fsl,sec(?:[123]\.\d|-v[123])|\btalitos\b/i,
    modules: ['talitos'],
    config: 'CONFIG_CRYPTO_DEV_TALITOS',
    openwrt: 'kmod-crypto-hw-talitos',
    aes: ['ecb', 'cbc', 'ctr'],
  },
  {
    id: 'qce',
    name: 'Qualcomm QCE',
    verdict: /^Qualcomm QCE/,
    compatible: /qcom,(?:\w+-qce|crypto-v5)\b|\bqcrypto\b/i,
    modules: ['qcrypto'],
    config: 'CONFIG_CRYPTO_DEV_QCE',
    openwrt: 'kmod-crypto-hw-qce',
    aes: ['ecb', 'cbc', 'ctr', 'xts'],
  },
  {
    id: 'virtio',
    name: 'virtio-crypto device',
    verdict: /^virtio-crypto/,
    pci: /^1af4:1054$/i,
    log: /\bvirtio_crypto virtio\d+: (?:Accelerator device is ready|Registered)/,
    modules: ['virtio_crypto'],
    config: 'CONFIG_CRYPTO_DEV_VIRTIO',
    aes: ['cbc'],
    allocates: true,
  },
  {
    id: 'qat',
    name: 'Intel QuickAssist',
    verdict: /^Intel QuickAssist/,
    pci: /^8086:(?:0435|0443|37c8|37c9|19e2|19e3|6f54|6f55|494[0-9]|18a0|18a1)$/i,
    log: /\bqat_dev\d+\b|\b(?:4xxx|c6xx|c3xxx|dh895xcc) \w{4}:\w\w/,
    modules: ['qat_4xxx', 'qat_c62x', 'qat_c3xxx', 'qat_dh895xcc', 'intel_qat'],
    config: 'CONFIG_CRYPTO_DEV_QAT',
    firmware: 'firmware-misc-nonfree',
    aes: ['cbc', 'ctr', 'xts'],
    allocates: true,
  },
  {
    id: 'ccree',
    name: 'Arm CryptoCell',
    verdict: /^Arm CryptoCell/,
    compatible: /arm,cryptocell-\w+/i,
    modules: ['ccree'],
    config: 'CONFIG_CRYPTO_DEV_CCREE',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm', 'ccm'],
  },
  {
    id: 'sun8i',
    name: 'Allwinner Crypto Engine',
    verdict: /^Allwinner/,
    compatible: /allwinner,sun\d+i-\w+-crypto\b/i,
    modules: ['sun8i_ce', 'sun8i_ss', 'sun4i_ss'],
    config: 'CONFIG_CRYPTO_DEV_ALLWINNER',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'rockchip',
    name: 'Rockchip crypto engine',
    verdict: /^Rockchip/,
    compatible: /rockchip,rk\d+-crypto\b/i,
    modules: ['rk_crypto'],
    config: 'CONFIG_CRYPTO_DEV_ROCKCHIP',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'omap',
    name: 'TI OMAP AES engine',
    verdict: /^TI OMAP/,
    compatible: /ti,omap\d-(?:aes|des|sham)\b|\bomap-(?:aes|sham|des)\b/i,
    modules: ['omap_aes_driver', 'omap_sham', 'omap_des'],
    config: 'CONFIG_CRYPTO_DEV_OMAP',
    openwrt: 'kmod-crypto-hw-omap',
    aes: ['ecb', 'cbc', 'ctr', 'gcm'],
  },
  {
    id: 'sa2ul',
    name: 'TI SA2UL',
    verdict: /^TI SA2UL/,
    compatible: /ti,(?:j721e|am654|am64)-sa[23]ul|\bsa2ul\b/i,
    modules: ['sa2ul'],
    config: 'CONFIG_CRYPTO_DEV_SA2UL',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'dthe',
    name: 'TI DTHE v2',
    verdict: /^TI DTHE/,
    compatible: /ti,am62l-dthev2\b/i,
    modules: ['dthev2'],
    config: 'CONFIG_CRYPTO_DEV_TI_DTHEV2',
    aes: ['ecb', 'cbc', 'ctr', 'xts'],
  },
  {
    id: 'stm32',
    name: 'STM32 CRYP',
    verdict: /^STMicroelectronics STM32/,
    compatible: /st,stm32\w+-cryp\b/i,
    modules: ['stm32_cryp'],
    config: 'CONFIG_CRYPTO_DEV_STM32_CRYP',
    aes: ['ecb', 'cbc', 'ctr', 'gcm', 'ccm'],
  },
  {
    id: 'atmel',
    name: 'Microchip (Atmel) AES engine',
    verdict: /^Microchip\/Atmel/,
    compatible: /atmel,at91sam\w+-(?:aes|tdes|sha)\b/i,
    modules: ['atmel_aes', 'atmel_tdes', 'atmel_sha'],
    config: 'CONFIG_CRYPTO_DEV_ATMEL_AES',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm'],
  },
  {
    id: 'hisi',
    name: 'HiSilicon SEC',
    verdict: /^HiSilicon SEC/,
    compatible: /hisilicon,hip0\d-sec\b/i,
    pci: /^19e5:a25[56]$/i,
    modules: ['hisi_sec2'],
    config: 'CONFIG_CRYPTO_DEV_HISI_SEC2',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm', 'ccm'],
  },
  {
    id: 'zynqmp',
    name: 'AMD/Xilinx ZynqMP AES',
    verdict: /^AMD\/Xilinx/,
    compatible: /xlnx,(?:zynqmp|versal)-aes\b/i,
    modules: ['zynqmp_aes_gcm'],
    config: 'CONFIG_CRYPTO_DEV_ZYNQMP_AES',
    aes: ['gcm'],
  },
  {
    id: 'amlogic',
    name: 'Amlogic GXL crypto engine',
    verdict: /^Amlogic/,
    compatible: /amlogic,gxl-crypto\b/i,
    modules: ['amlogic_gxl_crypto'],
    config: 'CONFIG_CRYPTO_DEV_AMLOGIC_GXL',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'starfive',
    name: 'StarFive JH7110 crypto engine',
    verdict: /^StarFive/,
    compatible: /starfive,jh7110-crypto\b/i,
    modules: ['jh7110_crypto'],
    config: 'CONFIG_CRYPTO_DEV_JH7110',
    aes: ['ecb', 'cbc', 'ctr', 'gcm', 'ccm'],
  },
  {
    id: 's5p',
    name: 'Samsung SSS',
    verdict: /^Samsung/,
    compatible: /samsung,(?:s5pv210|exynos4210|exynos5433)-(?:secss|slim-sss)\b/i,
    modules: ['s5p_sss'],
    config: 'CONFIG_CRYPTO_DEV_S5P',
    aes: ['ecb', 'cbc', 'ctr'],
  },
  {
    id: 'geode',
    name: 'AMD Geode LX AES',
    verdict: /^AMD Geode/,
    pci: /^1022:2082$/i,
    modules: ['geode_aes'],
    config: 'CONFIG_CRYPTO_DEV_GEODE',
    openwrt: 'kmod-crypto-hw-geode',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'ccp',
    name: 'AMD CCP',
    verdict: /^AMD CCP/,
    pci: /^1022:(?:1456|1468|1486|15df)$/i,
    modules: ['ccp', 'ccp_crypto'],
    config: 'CONFIG_CRYPTO_DEV_CCP_CRYPTO',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm'],
  },
];

/** The engine that a verdict of `judgeHardware` names. */
export function engineOf(verdict: string | undefined): Engine | undefined {
  return verdict === undefined ? undefined : ENGINES.find((engine) => engine.verdict.test(verdict));
}
