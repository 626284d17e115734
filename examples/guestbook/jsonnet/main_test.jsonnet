// What must hold of the guestbook in Jsonnet: writ test examples/guestbook
local images = {
  image_web: 'guestbook/web:test',
  image_api: 'guestbook/api:test',
  image_store: 'guestbook/store:test',
  image_intruder: 'guestbook/intruder:test',
};
local guestbook = (import 'main.jsonnet')(images.image_web, images.image_api, images.image_store, images.image_intruder);
local writ = import 'writ.libsonnet';

local documents = std.flattenArrays([
  if std.objectHas(app, 'kind') then [app] else [app[part] for part in std.objectFields(app)]
  for app in std.objectValues(guestbook)
]);

{
  tests: {
    'the intruder declares nothing': {
      got: [d.metadata.name for d in documents if std.isObject(d) && std.get(d, 'kind') == 'Dependency' && d.spec.consumer.name == 'intruder'],
      want: [],
    },
    'an app needs an image': {
      value: writ.app('x', {}),
      fail: 'image',
    },
    'every document that is deployed': {
      inputs: images,
      snapshot: 'guestbook',
    },
    'two connections are declared': {
      inputs: images,
      expect: [
        { kind: 'Dependency', count: 2 },
        { kind: 'Dependency', name: 'web-api', match: { spec: { target: { service: { name: 'api', ports: ['8080'] } } } } },
        { kind: 'Dependency', name: 'api-store', match: { spec: { consumer: { kind: 'Deployment', name: 'api' } } } },
        { kind: 'Dependency', name: 'web-store', absent: true },
      ],
    },
    'images are needed': {
      fail: 'image_web',
    },
  },
}
