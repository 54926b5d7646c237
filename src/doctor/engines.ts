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
  /** Names of its drivers as they stand before a device in the log (`sun8i-ce 1904000.crypto:`), for a regular expression. */
  readonly drivers?: string;
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
    drivers: 'mtk-eip93|inside-secure-eip93',
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
    drivers: 'mtk-aes',
    modules: ['crypto_hw_mt7628_aes', 'crypto_hw_mtk_aes', 'mtk-aes'],
    config: 'CONFIG_CRYPTO_DEV_MT7628_AES',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'safexcel',
    name: 'SafeXcel EIP97/EIP197',
    verdict: /^Inside Secure SafeXcel/,
    compatible: /safexcel-eip(?:97|197)|\beip197?b?\b|\beip97/i,
    log: /\bcrypto-safexcel\b|\bEIP1?97:[0-9a-f]{1,4}\([\d,]{1,20}\)-HIA:/,
    drivers: 'crypto-safexcel',
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
    drivers: 'mtk-crypto',
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
    drivers: 'marvell-cesa|mv_crypto',
    modules: ['marvell_cesa'],
    config: 'CONFIG_CRYPTO_DEV_MARVELL_CESA',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'caam',
    name: 'NXP CAAM',
    verdict: /^NXP CAAM/,
    compatible: /fsl,(?:imx\w+-caam|sec-v[45]\.\d|imx6ul-caam)|\bcaam\b/i,
    log: /\bcaam_jr\b|\bcaam algorithms registered|\bcaam \w+\.(?:crypto|caam)\b/,
    drivers: 'caam|caam_jr',
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
    drivers: 'mxs-dcp',
    modules: ['mxs_dcp'],
    config: 'CONFIG_CRYPTO_DEV_MXS_DCP',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'sahara',
    name: 'NXP SAHARA',
    verdict: /^NXP SAHARA/,
    compatible: /fsl,imx\w{2,4}-sahara|\bsahara\b/i,
    drivers: 'sahara',
    modules: ['sahara'],
    config: 'CONFIG_CRYPTO_DEV_SAHARA',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'talitos',
    name: 'Freescale SEC (Talitos)',
    verdict: /^Freescale Talitos/,
    compatible: /fsl,sec(?:[123]\.\d|-v[123])|\btalitos\b/i,
    drivers: 'talitos',
    modules: ['talitos'],
    config: 'CONFIG_CRYPTO_DEV_TALITOS',
    openwrt: 'kmod-crypto-hw-talitos',
    aes: ['ecb', 'cbc', 'ctr'],
  },
  {
    id: 'qce',
    name: 'Qualcomm QCE',
    verdict: /^Qualcomm QCE/,
    compatible: /qcom,(?:\w+-qce|crypto-v5|qcrypto)\b/i,
    log: /\bqcrypto qcrypto\.\d:|\bQualcomm Crypto \d\.\d\.\d device found/,
    drivers: 'qcrypto|qce|qcedev',
    modules: ['qcrypto'],
    config: 'CONFIG_CRYPTO_DEV_QCE',
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
    drivers: '4xxx|420xx|401xx|402xx|c6xx|c62x|c3xxx|dh895xcc',
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
    drivers: 'ccree',
    modules: ['ccree'],
    config: 'CONFIG_CRYPTO_DEV_CCREE',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm', 'ccm'],
  },
  {
    id: 'sun8i',
    name: 'Allwinner Crypto Engine',
    verdict: /^Allwinner/,
    compatible: /allwinner,sun\d+i-\w+-crypto\b/i,
    drivers: 'sun8i-ce|sun8i-ss|sun4i-ss',
    modules: ['sun8i_ce', 'sun8i_ss', 'sun4i_ss'],
    config: 'CONFIG_CRYPTO_DEV_ALLWINNER',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'rockchip',
    name: 'Rockchip crypto engine',
    verdict: /^Rockchip/,
    compatible: /rockchip,rk\d+-crypto\b/i,
    drivers: 'rk-crypto|rk3288-crypto|rk2-crypto|rk3588-crypto',
    modules: ['rk_crypto'],
    config: 'CONFIG_CRYPTO_DEV_ROCKCHIP',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'omap',
    name: 'TI OMAP AES engine',
    verdict: /^TI OMAP/,
    compatible: /ti,omap\d-(?:aes|des|sham)\b|\bomap-(?:aes|sham|des)\b/i,
    drivers: 'omap-aes|omap-sham|omap-des',
    modules: ['omap_aes_driver', 'omap_sham', 'omap_des'],
    config: 'CONFIG_CRYPTO_DEV_OMAP',
    aes: ['ecb', 'cbc', 'ctr', 'gcm'],
  },
  {
    id: 'sa2ul',
    name: 'TI SA2UL',
    verdict: /^TI SA2UL/,
    compatible: /ti,(?:j721e|am654|am64)-sa[23]ul|\bsa2ul\b/i,
    drivers: 'saul-crypto|sa2ul',
    modules: ['sa2ul'],
    config: 'CONFIG_CRYPTO_DEV_SA2UL',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'dthe',
    name: 'TI DTHE v2',
    verdict: /^TI DTHE/,
    compatible: /ti,am62l-dthev2\b/i,
    drivers: 'dthe|dthev2',
    modules: ['dthev2'],
    config: 'CONFIG_CRYPTO_DEV_TI_DTHEV2',
    aes: ['ecb', 'cbc', 'ctr', 'xts'],
  },
  {
    id: 'stm32',
    name: 'STM32 CRYP',
    verdict: /^STMicroelectronics STM32/,
    compatible: /st,stm32\w+-cryp\b/i,
    drivers: 'stm32-cryp|stm32-hash',
    modules: ['stm32_cryp'],
    config: 'CONFIG_CRYPTO_DEV_STM32_CRYP',
    aes: ['ecb', 'cbc', 'ctr', 'gcm', 'ccm'],
  },
  {
    id: 'atmel',
    name: 'Microchip (Atmel) AES engine',
    verdict: /^Microchip\/Atmel/,
    compatible: /atmel,at91sam\w+-(?:aes|tdes|sha)\b/i,
    drivers: 'atmel[-_]aes|atmel[-_]sha|atmel[-_]tdes',
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
    drivers: 'hisi_sec2?|hisi_hpre|hisi_zip',
    modules: ['hisi_sec2'],
    config: 'CONFIG_CRYPTO_DEV_HISI_SEC2',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm', 'ccm'],
  },
  {
    id: 'zynqmp',
    name: 'AMD/Xilinx ZynqMP AES',
    verdict: /^AMD\/Xilinx/,
    compatible: /xlnx,(?:zynqmp|versal)-aes\b/i,
    drivers: 'zynqmp-aes|zynqmp_aes',
    modules: ['zynqmp_aes_gcm'],
    config: 'CONFIG_CRYPTO_DEV_ZYNQMP_AES',
    aes: ['gcm'],
  },
  {
    id: 'amlogic',
    name: 'Amlogic GXL crypto engine',
    verdict: /^Amlogic/,
    compatible: /amlogic,gxl-crypto\b/i,
    drivers: 'gxl-crypto|amlogic-gxl-crypto',
    modules: ['amlogic_gxl_crypto'],
    config: 'CONFIG_CRYPTO_DEV_AMLOGIC_GXL',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'starfive',
    name: 'StarFive JH7110 crypto engine',
    verdict: /^StarFive/,
    compatible: /starfive,jh7110-crypto\b/i,
    drivers: 'jh7110-crypto|jh7110-sec|starfive-crypto|jh7110',
    modules: ['jh7110_crypto'],
    config: 'CONFIG_CRYPTO_DEV_JH7110',
    aes: ['ecb', 'cbc', 'ctr', 'gcm', 'ccm'],
  },
  {
    id: 's5p',
    name: 'Samsung SSS',
    verdict: /^Samsung/,
    compatible: /samsung,(?:s5pv210|exynos4210|exynos5433)-(?:secss|slim-sss)\b/i,
    log: /\bs5p-sss driver registered\b/,
    drivers: 's5p-secss|s5p-sss',
    modules: ['s5p_sss'],
    config: 'CONFIG_CRYPTO_DEV_S5P',
    aes: ['ecb', 'cbc', 'ctr'],
  },
  {
    id: 'geode',
    name: 'AMD Geode LX AES',
    verdict: /^AMD Geode/,
    pci: /^1022:2082$/i,
    drivers: 'geode-aes',
    modules: ['geode_aes'],
    config: 'CONFIG_CRYPTO_DEV_GEODE',
    openwrt: 'kmod-crypto-hw-geode',
    aes: ['ecb', 'cbc'],
  },
  {
    id: 'ccp',
    name: 'AMD CCP',
    verdict: /^AMD CCP/,
    pci: /^(?:1022|1d94):(?:1456|1468|1486|1498|15c7|15df|1649|17e0)$/i,
    log: /\bccp_crypto: /,
    drivers: 'ccp',
    modules: ['ccp', 'ccp_crypto'],
    config: 'CONFIG_CRYPTO_DEV_CCP_CRYPTO',
    openwrt: 'kmod-crypto-hw-ccp',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm'],
  },
  {
    id: 'crypto4xx',
    name: 'AMCC PowerPC 4xx security engine',
    verdict: /^AMCC crypto4xx/,
    compatible: /amcc,ppc4\w+-crypto\b/i,
    drivers: 'crypto4xx',
    modules: ['crypto4xx'],
    config: 'CONFIG_CRYPTO_DEV_PPC4XX',
    aes: ['ecb', 'cbc', 'ctr', 'gcm', 'ccm'],
  },
  {
    id: 'ixp4xx',
    name: 'Intel IXP4xx NPE',
    verdict: /^Intel IXP4xx/,
    compatible: /intel,ixp4xx-crypto\b/i,
    drivers: 'ixp4xx_crypto',
    modules: ['ixp4xx_crypto'],
    config: 'CONFIG_CRYPTO_DEV_IXP4XX',
    aes: ['ecb', 'cbc', 'ctr'],
  },
  {
    id: 'n2',
    name: 'SPARC Niagara crypto unit',
    verdict: /^Sun Niagara/,
    compatible: /SUNW,(?:n2|vf|kt)-(?:mau|cwq)\b/i,
    log: /\bn2_crypto: (?:Found|Registered)/,
    drivers: 'n2_crypto|n2-crypto',
    modules: ['n2_crypto'],
    config: 'CONFIG_CRYPTO_DEV_NIAGARA2',
    aes: ['ecb', 'cbc', 'ctr'],
  },
  {
    id: 'nx',
    name: 'IBM Power NX',
    verdict: /^IBM NX/,
    compatible: /ibm,sym-encryption-v1\b/i,
    drivers: 'nx_crypto|nx-crypto',
    modules: ['nx_crypto'],
    config: 'CONFIG_CRYPTO_DEV_NX_ENCRYPT',
    aes: ['ecb', 'cbc', 'ctr', 'gcm', 'ccm'],
  },
  {
    id: 'lantiq',
    name: 'Lantiq DEU',
    verdict: /^Lantiq DEU/,
    compatible: /lantiq,deu-\w+/i,
    log: /\bDEU driver version\b|\bifxmips_deu\b/i,
    modules: ['ltq_deu_vr9', 'ltq_deu_danube', 'ltq_deu_ar9'],
    config: 'CONFIG_CRYPTO_DEV_DEU',
    openwrt: 'kmod-ltq-deu-vr9',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm'],
  },
  {
    id: 'spu',
    name: 'Broadcom SPU',
    verdict: /^Broadcom SPU/,
    compatible: /brcm,spum?-(?:crypto|nsp-crypto)|brcm,spu2-\w+crypto\b/i,
    drivers: 'bcm-crypto-spu|brcm-spu-crypto',
    modules: ['bcm_crypto_spu'],
    config: 'CONFIG_CRYPTO_DEV_BCM_SPU',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm', 'ccm'],
  },
  {
    id: 'cpt',
    name: 'Marvell (Cavium) CPT',
    verdict: /^Marvell\/Cavium CPT/,
    pci: /^177d:a0(?:40|41|f2|f3|fd|fe)$/i,
    drivers: 'thunder-cpt|cptpf|cptvf|octeontx-cpt|octeontx-cptvf|rvu_cptpf|rvu_cptvf',
    modules: ['octeontx_cptvf', 'cptvf', 'rvu_cptvf'],
    config: 'CONFIG_CRYPTO_DEV_OCTEONTX_CPT',
    aes: ['ecb', 'cbc', 'xts', 'gcm'],
  },
  {
    id: 'tegra',
    name: 'NVIDIA Tegra Security Engine',
    verdict: /^NVIDIA Tegra/,
    compatible: /nvidia,tegra\d+-se-(?:aes|hash)\b/i,
    drivers: 'tegra-se',
    modules: ['tegra_se'],
    config: 'CONFIG_CRYPTO_DEV_TEGRA',
    aes: ['ecb', 'cbc', 'ctr', 'xts', 'gcm', 'ccm'],
  },
  {
    id: 'aspeed',
    name: 'ASPEED HACE',
    verdict: /^ASPEED/,
    compatible: /aspeed,ast\d+-(?:hace|acry)\b/i,
    drivers: 'aspeed-hace|aspeed-acry',
    modules: ['aspeed_crypto'],
    config: 'CONFIG_CRYPTO_DEV_ASPEED',
    aes: ['ecb', 'cbc', 'ctr'],
  },
];

/** The engine that a verdict of `judgeHardware` names. */
export function engineOf(verdict: string | undefined): Engine | undefined {
  return verdict === undefined ? undefined : ENGINES.find((engine) => engine.verdict.test(verdict));
}

/** A driver's name, then its device: `sun8i-ce 1904000.crypto:`, `ccp 0000:11:00.2:`; or the driver core's `sun8i-ce: probe of …`. */
const SPEAKING = new Map(
  ENGINES.flatMap(({ id, drivers }) =>
    drivers === undefined
      ? []
      : [
          [
            id,
            new RegExp(
              String.raw`(?:^|[\]>:\s])(?:${drivers})(?: (?:[0-9a-f]{4,16}\.[\w,.-]{1,40}|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]):|: probe of )`,
              'i',
            ),
          ] as const,
        ],
  ),
);

/** Is this line of the kernel's log one of the engine's driver, or about it? */
export function speaks({ id, log }: Engine, text: string): boolean {
  return log?.test(text) === true || SPEAKING.get(id)?.test(text) === true;
}
