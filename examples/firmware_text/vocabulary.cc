// SPDX-License-Identifier: Apache-2.0
//
// Written by train.py with weights.bin, which belong together; do not edit. Trained on the text of stories.py with PyTorch 2.15.0.
// clang-format off
#include "weights.h"

namespace firmware_text {

static_assert(kWords == 178 && kLayers == 4 && kDim == 96 && kHidden == 192 && kQHeads == 4 && kKvHeads == 2 &&
kHeadDim == 24 && kRotaryDim == 8 && kRopeBase == 10000.0 && kTokens == 160 && kEpsilon == 1e-05f,
"run train.py anew");

const char* const kVocabulary[kWords] =
{"<end>",",",".",":","?","Aldport","Anna","Avocet","Boris","Brimhaven","Clara","Colmouth","Curlew","David",
"Dunwater","Eastholm","Elena","Farnsea","Felix","Friday","Gannet","Greta","Greypoint","Heron","Hollowbay",
"Hugo","Irina","Jonas","Karla","Kestrel","Leo","Monday","Osprey","Petrel","Plover","Puffin","Saturday",
"Sunday","Tern","Thursday","Tuesday","Wednesday","a","afternoon","ahead","an","and","answer","apples","are",
"around","at","back","barometer","be","because","bell","big","black","blue","boat","boxes","break",
"breaks","bricks","captain","carry","clear","colour","comes","coming","crates","deck","depth","dies","does",
"down","dry","eight","engine","evening","falls","fast","five","flour","fog","for","four","free","gauge",
"green","grey","grows","hammer","hangs","he","high","ice","in","is","it","lamps","leave","leaves","let",
"lets","lies","little","log","morning","near","nets","new","night","nine","not","of","old","on","pass",
"pressure","question","radar","reads","red","ring","rings","rises","sacks","sail","sails","salt","sandbank",
"sees","seven","she","ship","six","sky","slow","so","sounder","start","starts","steer","steers","storm",
"take","takes","tea","temperature","that","the","there","thermometer","three","tools","turn","turns","two",
"wait","waits","water","waves","way","what","when","where","which","white","who","why","will","wind",
"with","wool","writes","yellow"};

}  // namespace firmware_text
