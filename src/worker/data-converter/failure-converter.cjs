// Temporal loads failure converters with `require`. This one moves the messages and stacks of failures into payloads, which a codec encrypts.
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
