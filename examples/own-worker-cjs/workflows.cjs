// A plugin cannot contain workflows, so this line adds those of searchflow to your own. A worker of searchflow needs all of them.
module.exports = { ...require('searchflow/workflows') };
