// What the dashboards may say: Grafana's own types of a dashboard and of the panels that they use, spelled as JSON has
// them. A file that has a field which Grafana doesn't know, or a value which it doesn't take, is a compile error.
import type {
  AnnotationQuery, Dashboard, DataQuery, FieldConfig, FieldConfigSource, GraphFieldConfig, Panel, RowPanel, VariableModel,
} from '@grafana/schema';
import type { Options as StatOptions } from
  '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { Options as GraphOptions } from
  '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// JSON has the value of an enumeration where the types have its name.
type Plain<T> =
  T extends string ? `${T}` :
  T extends number | boolean | null | undefined ? T :
  T extends Array<infer E> ? Plain<E>[] :
  T extends object ? { [K in keyof T]: Plain<T[K]> } : T;

// Grafana types what belongs to a plugin as "anything". These are the plugins' own types, or, of Prometheus, whose types
// come with all of Grafana's user interface, the fields that its query editor writes.
interface Query extends DataQuery {
  expr: string;
  legendFormat?: string;
  range?: boolean;
  instant?: boolean;
  interval?: string;
  format?: 'time_series' | 'table' | 'heatmap';
  editorMode?: 'code' | 'builder';
}

interface Fields<Custom> extends Omit<FieldConfigSource, 'defaults'> {
  defaults: Omit<FieldConfig, 'custom'> & { custom?: Custom };
}

type Drawn<Type, Options, Custom> = Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> & {
  type: Type; options: Options; fieldConfig: Fields<Custom>; targets: Query[];
};

type Chart = Drawn<'timeseries', GraphOptions, GraphFieldConfig> | Drawn<'stat', StatOptions, never>;

interface Marks extends AnnotationQuery<Query> {
  expr: string;
  titleFormat?: string;
  textFormat?: string;
  tagKeys?: string;
}

export type Board = Plain<
  Omit<Dashboard, 'panels' | 'annotations' | 'templating'> & {
    panels: (Chart | (Omit<RowPanel, 'type' | 'panels'> & { type: 'row'; panels: Chart[] }))[];
    annotations: { list: Marks[] };
    templating: { list: VariableModel[] };
  }
>;
