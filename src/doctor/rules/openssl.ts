/** OpenSSL's way to the engine: the engine or provider, its configuration, /dev/crypto; and what it claims about hardware. */
import { type Case, engineNamesText, listed, usedFor } from '../case.js';
import { OPEN_CRYPTODEV, USE_DEVCRYPTO } from '../cures.js';
import { behind, isHardware } from '../facts/algorithms.js';
import type { Quote } from '../facts/document.js';
import { HARDWARE_ENGINE, versionAtLeast } from '../facts/openssl.js';
import { costsLikeAnEngine } from '../facts/results.js';
import type { Found, Rule, Step } from '../finding.js';

const newest = ({ facts }: Case) => facts.openssl.versions.at(-1);

const QAT_NEEDS =
  'a QuickAssist device that is up, a configuration of it with the section that the engine asks for ([SHIM]), and rights on /dev/qat_* or /dev/vfio';

/** What an engine needs of the kernel. */
const NEEDS: Readonly<Record<string, string>> = {
  devcrypto: '/dev/crypto, of cryptodev-linux',
  cryptodev: '/dev/crypto, of cryptodev-linux',
  afalg: 'AF_ALG, and asynchronous requests on it, which Linux 7.2 took out',
  qat: QAT_NEEDS,
  qatengine: QAT_NEEDS,
  'qat-hw': QAT_NEEDS,
  padlock:
    'a VIA or Zhaoxin CPU with PadLock, and an OpenSSL that was built with the code for it (long only for 32 bits)',
};

const asksForEngine = ({ facts }: Case): boolean =>
  facts.results.sets.some(({ runs }) => runs.some(({ engine }) => engine !== undefined)) ||
  facts.openssl.configured.size > 0;

const notLoaded: Rule = {
  id: 'engine-not-loaded',
  topic: 'openssl',
  about: '`Invalid engine`: what follows is a table of the CPU’s own speed',
  examine: (subject) => {
    const { facts } = subject;
    const runs = facts.results.sets.flatMap(({ source, runs: all }) =>
      all
        .filter(({ engine, measurements }) => engine?.loaded === 'no' && measurements.length > 0)
        .map((run) => ({ run, source })),
    );
    const [first] = runs;
    const failed = facts.openssl.loadFailures;
    // In a bundle the probe itself tries them all; that one is not there is then no complaint.
    const bundle = facts.sources.some((source) => source.bundle !== 'none');
    const alone = bundle ? undefined : [...failed].find(([id]) => HARDWARE_ENGINE.test(id));
    if (!first && !alone) return [];
    const id = first?.run.engine?.requested ?? alone![0];
    const failure = failed.get(id);
    const version = newest(subject);
    const removed = version !== undefined && versionAtLeast(version.value, 4);
    const times = first?.run.processTimes;
    const cause = removed
      ? `OpenSSL ${version.value} has no engines any more.`
      : failure?.why === 'refused'
        ? `Its library is there and refused to start: ${id} needs ${NEEDS[id] ?? 'its device'}, and that is not to be had here. A line about a missing library after that is a second attempt, and no cause.`
        : failure?.why === 'absent'
          ? `Its library is not installed: OpenSSL was built without it, or its package is missing.`
          : 'Either its library is not installed, or what it needs of the kernel is not there; the text does not say which.';
    return [
      {
        kind: 'problem',
        weight: first ? 90 : 69,
        sureness: 'certain',
        verdict: first
          ? `OpenSSL could not load the engine “${id}”: the figures are those of the CPU alone`
          : `OpenSSL cannot load the engine “${id}”${failure?.why === 'absent' ? ': its library is not installed' : ', although its library is there'}`,
        details: [
          cause,
          ...(first
            ? [
                '`openssl speed` says so in one line and goes on with its own code, and its table looks like any other.',
              ]
            : []),
          ...(times?.cpuPercent !== undefined && times.cpuPercent >= 90
            ? [`The process had the CPU for ${times.cpuPercent} % of the time: nobody else did the work.`]
            : []),
        ],
        evidence: [
          ...(first
            ? [
                {
                  source: first.source,
                  line: first.run.lines?.[0] ?? 0,
                  text: `${first.run.command ?? first.run.label}: engine ${id} not loaded`,
                } satisfies Quote,
              ]
            : []),
          ...(failure ? [failure.quote] : []),
          ...(version ? [version.quote] : []),
        ],
        steps: removed
          ? withoutEngines
          : id.startsWith('qat')
            ? [
                {
                  text: 'See whether a device is there and up, and whether you may open it',
                  commands: [
                    'lspci -d 8086: | grep -i -e quickassist -e co-processor',
                    'adf_ctl status || qat_service status || systemctl status qat',
                    'ls -l /dev/qat_* /dev/vfio; id',
                  ],
                },
                {
                  text: 'Put the engine’s own configuration in the device’s place and start the service again (TYPE is the device’s)',
                  commands: [
                    'cp qat/config/TYPE/multi_process/TYPE_dev0.conf /etc/',
                    'systemctl restart qat',
                  ],
                },
                { text: 'Look whether it loads', commands: [`openssl engine -t -c ${id}`] },
              ]
            : id === 'afalg'
              ? [
                  {
                    text: 'See whether the kernel has AF_ALG at all',
                    commands: ['hwcrypt list drivers', 'openssl engine -t -c afalg'],
                  },
                ]
              : [
                  ...OPEN_CRYPTODEV,
                  { text: 'Look whether it loads', commands: [`openssl engine -t -c ${id}`] },
                ],
      },
    ];
  },
};

const withoutEngines: readonly Step[] = [
  {
    text: 'Use the kernel’s own users of the engine (dm-crypt, IPsec), or hwcrypt’s drivers, which need no engine of OpenSSL',
    commands: ['hwcrypt speed -evp aes-128-cbc --driver cryptodev,afalg,libcrypto', 'hwcrypt openssl'],
  },
];

const removed: Rule = {
  id: 'engine-removed',
  topic: 'openssl',
  about: 'OpenSSL 4 has no engines',
  examine: (subject) => {
    const version = newest(subject);
    const { noEngineSupport } = subject.facts.openssl;
    const four = version !== undefined && versionAtLeast(version.value, 4);
    if (!four && !noEngineSupport) return [];
    const wanted = asksForEngine(subject) || subject.hardware.length > 0 || noEngineSupport !== undefined;
    return [
      {
        kind: wanted ? 'problem' : 'fine',
        weight: wanted ? 81 : 21,
        sureness: 'certain',
        verdict: `OpenSSL${four ? ` ${version.value}` : ''} has no engines: neither devcrypto nor afalg exists for it, and no provider takes their place`,
        details: [
          'Engines were removed with 4.0 (April 2026). A line `engines = …` in openssl.cnf has no effect any more.',
        ],
        evidence: [
          ...(noEngineSupport ? [noEngineSupport] : []),
          ...(version ? [version.quote] : []),
          ...[...subject.facts.openssl.configured.values()].slice(0, 1),
        ],
        steps: wanted ? withoutEngines : [],
      },
    ];
  },
};

/** Is there anything by which OpenSSL could reach the kernel? */
function ways({ facts }: Case): string[] {
  const { engines, files, dumps, loadFailures } = facts.openssl;
  const ids = ['devcrypto', 'cryptodev', 'afalg', 'afalg_sync'];
  return ids.filter(
    (id) =>
      (engines.some((engine) => engine.id === id && engine.available !== false) ||
        files.has(id) ||
        dumps.some(({ engine, failed }) => engine === id && !failed)) &&
      loadFailures.get(id)?.why !== 'refused',
  );
}

const noPath: Rule = {
  id: 'no-path-from-openssl',
  topic: 'openssl',
  about: 'the kernel’s driver is fine, and OpenSSL has no way to it',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const { openssl, devices } = facts;
    const version = newest(subject);
    if (!version || versionAtLeast(version.value, 4)) return [];
    const ready = devices.devices.filter((device) => device.ready || typeof device.driver === 'string');
    const engine = hardware.length > 0 || ready.length > 0;
    const old = !versionAtLeast(version.value, 1, 1);
    const runs = facts.results.sets
      .filter(({ tool }) => tool === 'openssl speed')
      .flatMap(({ runs: all }) => all);
    const plain =
      runs.length > 0 && runs.every((run) => run.engine === undefined) && openssl.builtWithCryptodev !== true;
    if (ways(subject).length > 0 || runs.some((run) => run.engine?.loaded === 'yes')) return [];
    // With engines listed and none of ours among them it is known; an old version that was built without cryptodev has none either.
    const known = openssl.listed || (old && openssl.builtWithCryptodev === false);
    if (!known && !(old && plain)) return [];
    if (!engine && !(old && plain)) return [];
    const name = hardware.length > 0 ? engineNamesText(subject) : (ready[0]?.engine.name ?? 'engine');
    return [
      {
        kind: 'problem',
        weight: engine ? 77 : 62,
        sureness: known ? 'certain' : 'likely',
        verdict: engine
          ? `The driver of your ${name} works, but OpenSSL ${version.value} has no way to it: it has no engine for /dev/crypto or AF_ALG`
          : `These figures are the CPU’s: OpenSSL ${version.value} reaches no engine unless it was built for cryptodev and told to use it`,
        details: [
          'What the kernel has registered serves the kernel (dm-crypt, IPsec). A program needs two more things: a door (/dev/crypto or AF_ALG) and a library that goes through it.',
          ...(old
            ? [
                'OpenSSL 1.0.x has an engine for /dev/crypto only where it was built with -DHAVE_CRYPTODEV, and none for AF_ALG; 1.1.1 and 3.x have one called devcrypto.',
              ]
            : []),
        ],
        evidence: [
          version.quote,
          ...hardware.slice(0, 1).map(({ quote }) => quote),
          ...ready.slice(0, 1).map(({ quote }) => quote),
        ],
        steps: [
          ...OPEN_CRYPTODEV,
          {
            text: 'Or go there without OpenSSL',
            commands: ['hwcrypt speed -evp aes-128-cbc --driver cryptodev,afalg,libcrypto'],
          },
        ],
      },
    ];
  },
};

const notAsked: Rule = {
  id: 'engine-not-asked',
  topic: 'openssl',
  about: 'OpenSSL could reach the engine, and the benchmark did not ask for it',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const ready = facts.devices.devices.filter((device) => device.ready || typeof device.driver === 'string');
    if (hardware.length === 0 && ready.length === 0) return [];
    const way = ways(subject)[0] ?? (facts.openssl.builtWithCryptodev ? 'cryptodev' : undefined);
    // What the probe runs without an engine, it runs so on purpose.
    const runs = facts.sources.every(({ bundle }) => bundle === 'none')
      ? facts.results.sets
          .filter(({ tool }) => tool === 'openssl speed')
          .flatMap(({ source, runs: all }) => all.map((run) => ({ source, run })))
      : [];
    if (way === undefined || runs.length === 0 || runs.some(({ run }) => run.engine !== undefined)) return [];
    const [{ source, run }] = runs as [(typeof runs)[number]];
    return [
      {
        kind: 'problem',
        weight: 61.5,
        sureness: 'likely',
        verdict: `OpenSSL could reach your ${hardware.length > 0 ? engineNamesText(subject) : ready[0]!.engine.name}, but was not asked to: the benchmark names no engine, so its figures are the CPU’s`,
        evidence: [{ source, line: run.lines?.[0] ?? 0, text: run.command ?? run.label }],
        steps: [{ text: 'Ask for it', commands: [`openssl speed -elapsed -evp aes-128-cbc -engine ${way}`] }],
      },
    ];
  },
};

const byDefault: Rule = {
  id: 'engine-by-default',
  topic: 'openssl',
  about:
    'openssl speed without -engine costs as much a request as an engine: a configuration hands everything over',
  examine: ({ facts }) => {
    if (facts.sources.some(({ bundle }) => bundle !== 'none')) return [];
    const curve = facts.results.subjects
      .flatMap(({ algorithm, curves }) => curves.map((own) => ({ algorithm, ...own })))
      .find(
        // Without its command nobody knows what a run asked for: the table alone may be one with -engine.
        ({ run, series }) =>
          run.command !== undefined &&
          run.engine === undefined &&
          series.driverHint === undefined &&
          costsLikeAnEngine(series),
      );
    if (!curve) return [];
    const [small] = curve.series.points;
    const microseconds = Math.round((small!.requestBytes * 1e6) / small!.bytesPerSecond);
    return [
      {
        kind: 'problem',
        weight: 84.2,
        sureness: 'likely',
        verdict: `OpenSSL hands ${curve.algorithm} over to an engine without being asked: a request of ${small!.requestBytes} bytes takes ${microseconds} µs, which no CPU’s own code does`,
        details: [
          'Somewhere openssl.cnf, or a part of it, turns an engine on for all programs. Small requests, of which TLS and VPNs have many, get slower by factors of tens.',
        ],
        evidence: [curve.quote],
        steps: [
          {
            text: 'Measure OpenSSL’s own code beside it',
            commands: ['OPENSSL_CONF=/dev/null openssl speed -elapsed -evp aes-256-cbc'],
          },
          {
            text: 'See which engine is turned on, and where',
            commands: [
              'openssl version -d',
              'grep -rn -e engine -e devcrypto -e afalg /etc/ssl/openssl.cnf /etc/ssl/engines.cnf.d /var/etc/ssl',
            ],
          },
          {
            system: 'openwrt',
            text: 'Turn it off',
            commands: [
              "uci set openssl.devcrypto.enabled='0'; uci commit openssl; /etc/init.d/openssl restart",
            ],
          },
        ],
      },
    ];
  },
};

const noDevice: Rule = {
  id: 'cryptodev-absent',
  topic: 'cryptodev',
  about: 'an engine for /dev/crypto, or hardware, and no /dev/crypto',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const { device } = facts.ways;
    if (device?.value !== false) return [];
    const engine =
      ways(subject).find((id) => id === 'devcrypto' || id === 'cryptodev') ??
      [...facts.openssl.configured.keys()].find((id) => /dev/.test(id)) ??
      facts.openssl.engines.find(({ id }) => /^(?:dev|crypto)(?:crypto|dev)$/.test(id))?.id ??
      [...facts.openssl.loadFailures].find(
        ([id, { why }]) => /^devcrypto$/.test(id) && why === 'refused',
      )?.[0];
    if (engine === undefined && hardware.length === 0) return [];
    const loaded = facts.modules.loaded.get('cryptodev');
    return [
      {
        kind: engine === undefined ? 'advice' : 'problem',
        weight: engine === undefined ? 48 : 73,
        sureness: 'certain',
        verdict:
          engine === undefined
            ? `There is no /dev/crypto, so programs have no door to your ${engineNamesText(subject)} but AF_ALG`
            : `OpenSSL has the engine ${engine}, but there is no /dev/crypto for it to open`,
        details: [
          loaded
            ? 'The module cryptodev is loaded: mdev, udev or a container did not make the file.'
            : 'It comes with the module cryptodev of cryptodev-linux, which is not part of Linux.',
        ],
        evidence: [device.quote, ...(loaded ? [loaded] : [])],
        steps: OPEN_CRYPTODEV,
      },
    ];
  },
};

const notConfigured: Rule = {
  id: 'engine-not-configured',
  topic: 'openssl',
  about: 'an engine is installed, and no program is told to use it',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const id = ways(subject).find((way) => way !== 'afalg');
    const version = newest(subject);
    if (
      id === undefined ||
      hardware.length === 0 ||
      facts.openssl.configured.size > 0 ||
      facts.ways.device?.value === false
    )
      return [];
    if (!version || versionAtLeast(version.value, 4)) return [];
    const quote =
      facts.openssl.files.get(id) ?? facts.openssl.engines.find((engine) => engine.id === id)?.quote;
    return [
      {
        kind: 'advice',
        weight: 53,
        sureness: 'likely',
        verdict: `The engine ${id} is there, but no configuration turns it on: programs that are not told use the CPU`,
        details: ['That is as it should be until a measurement at your request sizes says otherwise.'],
        evidence: quote ? [quote] : [],
        steps: USE_DEVCRYPTO,
      },
    ];
  },
};

const everything: Rule = {
  id: 'engine-for-everything',
  topic: 'openssl',
  about: 'default_algorithms = ALL sends digests and tiny requests to the engine too',
  examine: ({ facts }) => {
    const { everything: all, configured } = facts.openssl;
    if (!all || configured.size === 0) return [];
    return [
      {
        kind: 'advice',
        weight: 54,
        sureness: 'likely',
        verdict:
          'default_algorithms = ALL gives the engine everything, digests and requests of a few bytes too',
        details: [
          'An engine has no threshold: small requests get slower by a factor of tens. Digests of a session do not outlive fork(), which breaks sshd and nginx.',
        ],
        evidence: [all, ...[...configured.values()].slice(0, 1)],
        steps: [
          {
            text: 'Name the ciphers, leave digests out, and give the configuration only to programs that gain',
            commands: [
              'default_algorithms = CIPHERS',
              'DIGESTS = NONE',
              'hwcrypt openssl --config cnf   # for what was measured',
            ],
          },
        ],
      },
    ];
  },
};

/** Modules of CPU code that people take for drivers of hardware. */
const CPU_MODULES =
  /^(?:aes_(?:neon_\w+|ce_\w+|arm\w*|x86_64|ti)|aesni_intel|sha\d+_(?:arm\w*|neon|ce|ssse3|x86)|ghash_\w+|crypto_simd|cryptd|chacha_neon|poly1305_arm)/;

const softwareBehind: Rule = {
  id: 'software-behind-engine',
  topic: 'openssl',
  about: 'OpenSSL’s engine works, and the kernel does the work on the CPU',
  examine: (subject) => {
    const { facts, hardware, idleDevices } = subject;
    const { openssl, results, modules } = facts;
    if (
      hardware.length > 0 ||
      openssl.dumps.some(({ verdict }) => verdict?.hardware === 'yes') ||
      openssl.sessions.some(({ verdict }) => verdict.hardware === 'yes')
    )
      return [];
    const run = results.sets
      .flatMap(({ runs }) => runs)
      .find(
        ({ engine }) => engine?.loaded === 'yes' && /^(?:devcrypto|cryptodev|afalg)$/.test(engine.requested),
      );
    const listing = openssl.engines.find(
      ({ id, algorithms }) => /^(?:devcrypto|cryptodev|afalg)$/.test(id) && algorithms !== undefined,
    );
    if (!run && !listing && openssl.dumps.length + openssl.sessions.length === 0) return [];
    const dumped = [...openssl.dumps, ...openssl.sessions].filter(
      ({ verdict }) => verdict?.hardware === 'no',
    );
    const winner = usedFor(subject, 'cbc(aes)');
    const cpuModules = [...modules.loaded].filter(([name]) => CPU_MODULES.test(name));
    const sure = dumped.length > 0 || (winner !== undefined && !isHardware(winner));
    if (!sure && !(cpuModules.length > 0 && modules.complete)) return [];
    const curve = results.subjects
      .flatMap(({ curves }) => curves)
      .find(({ place, series }) => place === 'offloaded' && series.points.length > 0);
    const what = dumped[0]?.driver ?? winner?.driver ?? cpuModules[0]![0];
    const words = winner
      ? behind(winner)
      : (dumped[0]?.verdict?.evidence[0]?.replace(/^.* is /, '') ??
        'code for the CPU’s own vector or AES instructions');
    return [
      {
        kind: 'problem',
        weight: 85,
        sureness: sure ? 'certain' : 'likely',
        verdict: `There is no accelerator behind the engine: ${what} is ${words}, so the kernel does on the CPU what OpenSSL could do itself`,
        details: [
          '/dev/crypto and AF_ALG then only add the way into the kernel and back to each request.',
          ...(idleDevices.length === 0
            ? [
                'That `openssl engine -c` lists ciphers proves that a session could be opened, and not that hardware is behind it.',
              ]
            : []),
        ],
        evidence: [
          ...dumped.slice(0, 1).map(({ quote }) => quote),
          ...(winner ? [winner.quote] : []),
          ...cpuModules.slice(0, 2).map(([, quote]) => quote),
          ...(listing ? [listing.quote] : []),
          ...(curve ? [curve.quote] : []),
        ].slice(0, 4),
        steps: [
          {
            text: 'Leave the engine out',
            commands: [
              "uci set openssl.devcrypto.enabled='0'; uci commit openssl",
              'openssl speed -elapsed -evp aes-256-cbc',
            ],
          },
        ],
      },
    ];
  },
};

const claims: Rule = {
  id: 'hardware-flag-wrong',
  topic: 'cryptodev',
  about:
    '“hw accelerated”, “software” and “not an accelerated cipher” come from one flag, which several drivers set wrongly',
  examine: ({ facts }) => {
    const { dumps, sessions } = facts.openssl;
    const out: Found[] = [];
    const session = sessions.find(
      ({ calledSoftware, verdict }) => calledSoftware && verdict.hardware === 'yes',
    );
    if (session) {
      out.push({
        kind: 'fine',
        weight: 83,
        sureness: 'certain',
        verdict: `${session.driver} is hardware (${session.verdict.engine ?? 'by its name'}), although the program calls it “not an accelerated cipher”`,
        details: [
          'That note is the flag CRYPTO_ALG_KERN_DRIVER_ONLY, which this driver does not set. QAT, virtio-crypto, sahara and mt7628 have the same fate.',
        ],
        evidence: [session.quote, session.calledSoftware!],
      });
    }
    const hidden = [
      ...dumps.filter(({ claim, verdict }) => claim === 'software' && verdict?.hardware === 'yes'),
      ...sessions.filter(({ flag, verdict }) => flag === false && verdict.hardware === 'yes'),
    ];
    if (hidden.length > 0) {
      out.push({
        kind: 'advice',
        weight: 64,
        sureness: 'certain',
        verdict: `${hidden[0]!.driver} is hardware (${hidden[0]!.verdict?.engine ?? 'by its name'}), although its flag says software`,
        details: ['With USE_SOFTDRIVERS = 2, the default, the devcrypto engine therefore refuses it.'],
        evidence: hidden.slice(0, 3).map(({ quote }) => quote),
        steps: [
          {
            text: 'Let the engine take it',
            commands: ['USE_SOFTDRIVERS = 1   # in the section [devcrypto] of openssl.cnf'],
          },
        ],
      });
    }
    const pretended = [
      ...dumps.filter(({ claim, verdict }) => claim === 'hw accelerated' && verdict?.hardware === 'no'),
      ...sessions.filter(({ flag, verdict }) => flag === true && verdict.hardware === 'no'),
    ];
    if (pretended.length > 0) {
      out.push({
        kind: 'advice',
        weight: 65,
        sureness: 'certain',
        verdict: `${pretended[0]!.driver} is software, although its flag says “hw accelerated”`,
        details: [...(pretended[0]!.verdict?.evidence.slice(0, 1) ?? [])],
        evidence: pretended.slice(0, 3).map(({ quote }) => quote),
      });
    }
    return out;
  },
};

const dumped: Rule = {
  id: 'engine-names-drivers',
  topic: 'openssl',
  about: 'DUMP_INFO: which driver of the kernel is behind each cipher',
  examine: ({ facts }) => {
    const hardware = facts.openssl.dumps
      .filter(({ kind, verdict }) => kind === 'cipher' && verdict?.hardware === 'yes')
      .sort((a, b) => Number(b.algorithm.startsWith('AES-')) - Number(a.algorithm.startsWith('AES-')));
    const [first] = hardware;
    if (!first) return [];
    const failed = facts.openssl.dumps.filter((entry) => entry.failed);
    const names = [...new Set(hardware.map(({ algorithm }) => algorithm.replace(/^AES-\d{3}-/, 'AES-')))];
    return [
      {
        kind: 'fine',
        weight: 53,
        sureness: 'likely',
        verdict: `OpenSSL’s ${first.engine} engine reaches hardware: ${listed(names.slice(0, 4))}${names.length > 4 ? ' and others' : ''} go to ${first.verdict?.engine ?? first.driver} (${first.driver})`,
        details: [
          'So say the names of the drivers. The last proof is that the engine’s line in /proc/interrupts rises while it runs.',
          ...(failed.length > 0
            ? [
                `That ${listed(failed.slice(0, 3).map(({ algorithm }) => algorithm))} could not be opened is usual: nobody has built them.`,
              ]
            : []),
        ],
        evidence: hardware.slice(0, 3).map(({ quote }) => quote),
      },
    ];
  },
};

const covers: Rule = {
  id: 'engine-covers-few',
  topic: 'openssl',
  about: 'the engine registers CBC, CTR and ECB only: GCM never gets there',
  examine: ({ facts }) => {
    const engine = facts.openssl.engines.find(
      ({ id, algorithms }) => /^(?:devcrypto|cryptodev|afalg)$/.test(id) && algorithms !== undefined,
    );
    if (!engine?.algorithms) return [];
    const modes = [
      ...new Set(
        engine.algorithms.flatMap((name) => /^AES-\d{3}-(\w+)$/i.exec(name)?.[1]?.toUpperCase() ?? []),
      ),
    ];
    if (modes.length === 0 || modes.includes('GCM')) return [];
    return [
      {
        kind: 'advice',
        weight: 51,
        sureness: 'certain',
        verdict: `The engine ${engine.id} offers AES in ${listed(modes)} only: what TLS and OpenVPN use today, AES-GCM, never reaches it`,
        details: [
          'So with TLS 1.3, or TLS 1.2 and a GCM suite, it makes no difference whether it is loaded.',
        ],
        evidence: [engine.quote],
        steps: [
          {
            text: 'Where it is yours to choose, and a measurement says that it pays',
            commands: ['openvpn --data-ciphers AES-128-CBC --auth SHA256 …'],
          },
        ],
      },
    ];
  },
};

const door: Rule = {
  id: 'dev-crypto-reaches-engine',
  topic: 'cryptodev',
  about: 'a session on /dev/crypto was opened here, and its driver is an engine',
  examine: ({ facts }) => {
    const found = facts.openssl.sessions.filter(
      ({ flag, verdict }) => flag !== undefined && verdict.hardware === 'yes',
    );
    const [first] = found;
    if (!first) return [];
    return [
      {
        kind: 'fine',
        weight: 36,
        sureness: 'certain',
        verdict: `/dev/crypto reaches your ${first.verdict.engine ?? first.driver}: ${listed([...new Set(found.map(({ algorithm }) => algorithm))])} by ${first.driver}`,
        evidence: found.slice(0, 3).map(({ quote }) => quote),
      },
    ];
  },
};

const large: Rule = {
  id: 'cryptodev-request-limit',
  topic: 'cryptodev',
  about: 'CIOCCRYPT gives EINVAL for large requests, or for lengths that are no multiple of the block',
  examine: ({ facts }) => {
    const found = facts.messages.find(({ code }) => code === 'CIOCCRYPT_EINVAL');
    if (!found) return [];
    const session = facts.openssl.sessions.at(-1);
    return [
      {
        kind: 'problem',
        weight: 83.2,
        sureness: 'likely',
        verdict: `${session ? `${session.driver} refuses` : '/dev/crypto refuses'} the request (EINVAL): it is larger than the driver takes at once, or no multiple of the cipher’s block`,
        details: [
          'Some engines’ drivers have a limit that nobody tells, by the number of descriptors (sahara: 38016 bytes). Smaller requests with the IV carried on give the same bytes.',
        ],
        evidence: [found.quote, ...(session ? [session.quote] : [])],
        steps: [
          {
            text: 'Halve the size until it works, down to a page of 4096 bytes; hwcrypt’s driver does and remembers',
            commands: ['hwcrypt speed -evp aes-128-cbc --driver cryptodev -bytes 32768'],
          },
        ],
      },
    ];
  },
};

const badDecrypt: Rule = {
  id: 'bad-decrypt',
  topic: 'openssl',
  about: '`bad decrypt` without an engine: another passphrase, digest or key derivation than at encryption',
  examine: ({ facts, hardware }) => {
    const bad = facts.messages.find(({ code, asked }) => code === 'BAD_DECRYPT' && asked);
    const used = facts.messages.some(({ code, asked }) => code === 'IN_USE' && asked);
    if (!bad || used || hardware.length > 0) return [];
    return [
      {
        kind: 'problem',
        weight: 71.8,
        sureness: 'possible',
        verdict:
          '“bad decrypt” is no matter of hardware as a rule: the passphrase, or the digest that makes the key of it, is another one than at encryption',
        details: [
          'OpenSSL 1.1.0 changed the digest from MD5 to SHA-256, and -pbkdf2 makes another key than without. Two programs that ask for the same passphrase may so have two keys.',
        ],
        evidence: [bad.quote],
        steps: [
          {
            text: 'Try the older digest, and the options of the program that encrypted',
            commands: [
              'openssl enc -d -aes-256-cbc -md md5 -in FILE -out OUT',
              'hwcrypt enc -d -aes-256-cbc -md md5 -in FILE -out OUT',
            ],
          },
        ],
      },
    ];
  },
};

const wrong: Rule = {
  id: 'engine-wrong-results',
  topic: 'driver',
  about: 'wrong or lost data is told of, and an engine is in use: `bad decrypt`, garbage, corruption',
  examine: ({ facts, hardware }) => {
    const bad = facts.messages.find(({ code, asked }) => code === 'BAD_DECRYPT' && asked);
    const data = facts.messages.find(({ code, asked }) => code === 'WRONG_DATA' && asked);
    const used = facts.messages.find(({ code, asked }) => code === 'IN_USE' && asked);
    const engine = used !== undefined || hardware.length > 0;
    const found = bad ?? data;
    if (!found || !engine) return [];
    return [
      {
        kind: 'problem',
        weight: bad ? 88.4 : 83.1,
        sureness: 'possible',
        verdict:
          'The text tells of wrong or lost data while an engine is in use: take its driver out, and see whether the trouble goes with it, before anything else is written',
        details: [
          'Drivers of engines have such faults more often than software: IVs that are not carried on, keys of 192 and 256 bits, lengths at the end of a page. Data that was written with one may be readable only with it.',
        ],
        evidence: [found.quote, ...(used ? [used.quote] : [])],
        steps: [
          {
            text: 'Compare the engine with software over the known answers and at random',
            commands: ['hwcrypt selftest', 'dmesg | grep -i "alg:"'],
          },
          {
            text: 'Take it out: OpenSSL without its engine, the kernel without the driver',
            commands: ['OPENSSL_CONF=/dev/null openssl enc …', 'modprobe -r MODULE'],
          },
        ],
      },
    ];
  },
};

export const opensslRules: readonly Rule[] = [
  notLoaded,
  removed,
  noPath,
  notAsked,
  byDefault,
  noDevice,
  notConfigured,
  everything,
  softwareBehind,
  claims,
  dumped,
  covers,
  door,
  large,
  badDecrypt,
  wrong,
];
