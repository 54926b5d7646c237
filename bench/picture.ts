/** The picture in docs/routing.md: what a request costs each driver, and the routed one, over its size. */
import { openCanvas } from '#src/report/html/canvas.js';
import { requestSize } from '#src/report/units.js';
import type { Regret } from './routing-guest.js';

const COLOURS: Readonly<Record<string, string>> = { libcrypto: '#1f77b4', afalg: '#d95f02', routed: '#222' };

/** An SVG file on its own: shown by whoever shows Markdown, in light and in dark. */
export async function regretPicture({ sizes, borders }: Regret): Promise<string> {
  const { plot, draw } = await openCanvas();
  const names = Object.keys(sizes[0]!.drivers);
  const curve = (name: string) =>
    sizes.map(({ bytes, drivers, routed }) => ({
      name,
      bytes,
      us: (name === 'routed' ? routed : drivers[name]!) / 1000,
    }));
  const colour = (name: string): string => COLOURS[name] ?? '#777';
  const drawn = draw(
    {
      width: 760,
      height: 400,
      marginLeft: 64,
      marginRight: 90,
      marginBottom: 44,
      x: {
        type: 'log',
        base: 2,
        label: 'bytes a request',
        ticks: [16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576],
        tickFormat: requestSize,
      },
      y: { type: 'log', label: 'µs a request', grid: true, ticks: 6, tickFormat: (us: number) => String(us) },
      marks: [
        ...borders
          .filter(({ fromBytes }) => fromBytes > 0)
          .map(({ fromBytes }) => plot.ruleX([fromBytes], { stroke: '#999', strokeDasharray: '3,3' })),
        ...names.map((name) =>
          plot.line(curve(name), { x: 'bytes', y: 'us', stroke: colour(name), strokeWidth: 2 }),
        ),
        plot.dot(curve('routed'), { x: 'bytes', y: 'us', r: 4, stroke: colour('routed'), fill: 'none' }),
        ...[...names, 'routed'].map((name, i) =>
          plot.text([curve(name).at(-1)!], {
            x: 'bytes',
            y: 'us',
            text: () => name,
            textAnchor: 'start',
            dx: 10,
            dy: name === 'routed' ? 14 : 2 * i,
            fill: colour(name),
          }),
        ),
      ],
    },
    {
      id: 'regret',
      className: 'regret',
      title: 'What a request costs each driver, and the routed one',
      description: `Time a request over its size, both logarithmic: ${names.join(', ')}, and circles for the routed request, which lie on the lower line.`,
    },
  );
  return `${drawn
    .toString()
    .replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" width="760" height="400" ')
    .replace('<desc', '<style>.regret{font:12px sans-serif;background:#fff;color:#333}</style><desc')}\n`;
}
