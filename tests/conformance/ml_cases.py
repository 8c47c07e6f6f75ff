"""Single-op models of ai.onnx.ml. See contrib_cases.py."""
import numpy as np
from onnx import numpy_helper

from contrib_cases import Fixed, Q, R, case, f32, i64, u8

case("ArrayFeatureExtractor", [R(3, 4), Fixed([0, 2], i64)], domain="ai.onnx.ml")
case("ArrayFeatureExtractor", [R(4), Fixed([[0, 2, 1]], i64)], domain="ai.onnx.ml")
case("Binarizer", [R(3, 4)], domain="ai.onnx.ml")
case(
    "CategoryMapper",
    [np.array([["a", "b"]], dtype=object)],
    dict(cats_int64s=[1, 2], cats_strings=["a", "b"]),
    domain="ai.onnx.ml",
)
case("CategoryMapper", [np.array([1, 2], i64)], dict(cats_int64s=[1, 2], cats_strings=["a", "b"]), domain="ai.onnx.ml")
case("FeatureVectorizer", [R(3, 4), R(3, 2)], dict(inputdimensions=[4, 2]), domain="ai.onnx.ml")
case("FeatureVectorizer", [Q(4, d=i64), Q(3, d=i64)], dict(inputdimensions=[4, 3]), domain="ai.onnx.ml")
case("Imputer", [R(3, 4)], dict(imputed_value_floats=[1.0] * 4, replaced_value_float=0.0), domain="ai.onnx.ml")
case(
    "LabelEncoder",
    [np.array(["a", "b"], dtype=object)],
    dict(keys_strings=["a"], values_int64s=[3]),
    domain="ai.onnx.ml",
)
case("LabelEncoder", [Q(3, 4, d=i64)], dict(keys_int64s=[1], values_floats=[3.0]), domain="ai.onnx.ml")
case("LabelEncoder", [Q(3, 4, d=i64)], dict(keys_int64s=[1], values_strings=["x"]), domain="ai.onnx.ml")
case("LabelEncoder", [Q(3, 4, d=i64)], dict(classes_strings=["a", "b"]), opset=1, domain="ai.onnx.ml")
case(
    "LabelEncoder",
    [R(3, 4, d=np.float64)],
    dict(
        keys_tensor=numpy_helper.from_array(np.array([1.0])),
        values_tensor=numpy_helper.from_array(np.array([1.0])),
        default_tensor=numpy_helper.from_array(np.array([1.0])),
    ),
    opset=4,
    domain="ai.onnx.ml",
)
for n, lab in ((2, 2), (3, 3), (1, 2)):
    case(
        "LinearClassifier",
        [R(5, 4)],
        dict(
            coefficients=[1.0] * (4 * n),
            intercepts=[1.0] * n,
            classlabels_ints=list(range(lab)),
            post_transform="LOGISTIC",
        ),
        2,
        domain="ai.onnx.ml",
    )
case(
    "LinearClassifier",
    [R(5, 4)],
    dict(coefficients=[1.0] * 8, intercepts=[1.0] * 2, classlabels_strings=["a", "b"]),
    2,
    domain="ai.onnx.ml",
)
case("LinearRegressor", [R(5, 4)], dict(coefficients=[1.0] * 8, intercepts=[1.0] * 2, targets=2), domain="ai.onnx.ml")
case("LinearRegressor", [R(5, 4)], dict(coefficients=[1.0] * 4), domain="ai.onnx.ml")
case("Normalizer", [R(5, 4)], dict(norm="L2"), domain="ai.onnx.ml")
case("Normalizer", [Q(5, 4, d=i64)], dict(norm="MAX"), domain="ai.onnx.ml")
case("OneHotEncoder", [Q(3, 4, d=i64)], dict(cats_int64s=[1, 2, 3]), domain="ai.onnx.ml")
case("OneHotEncoder", [np.array(["a"], dtype=object)], dict(cats_strings=["a", "b"]), domain="ai.onnx.ml")
case("Scaler", [R(5, 4)], dict(offset=[1.0] * 4, scale=[1.0] * 4), domain="ai.onnx.ml")
case("Scaler", [Q(5, 4, d=i64)], dict(offset=[1.0], scale=[1.0]), domain="ai.onnx.ml")


def svc(nc, vec=2, F=4, prob=False, kt="RBF", labels="ints"):
    V = vec * nc
    d = dict(
        coefficients=[0.5] * (V * (nc - 1)),
        kernel_params=[0.1, 0.0, 3.0],
        kernel_type=kt,
        rho=[0.1] * (nc * (nc - 1) // 2),
        support_vectors=[0.3] * (V * F),
        vectors_per_class=[vec] * nc,
    )
    d["classlabels_ints" if labels == "ints" else "classlabels_strings"] = (
        list(range(nc)) if labels == "ints" else [str(i) for i in range(nc)]
    )
    if prob:
        d["prob_a"] = [0.1] * (nc * (nc - 1) // 2)
        d["prob_b"] = [0.1] * (nc * (nc - 1) // 2)
    return d


for nc in (2, 3, 4):
    for pr in (False, True):
        case("SVMClassifier", [R(5, 4)], svc(nc, prob=pr), 2, domain="ai.onnx.ml")
case(
    "SVMClassifier",
    [R(5, 4)],
    dict(coefficients=[0.5] * 12, rho=[0.1] * 3, classlabels_ints=[0, 1, 2], kernel_params=[0.1, 0.0, 3.0]),
    2,
    domain="ai.onnx.ml",
)
case(
    "SVMClassifier",
    [R(5, 4)],
    dict(coefficients=[0.5] * 8, rho=[0.1] * 2, classlabels_ints=[0, 1], kernel_params=[0.1, 0.0, 3.0]),
    2,
    domain="ai.onnx.ml",
)
case(
    "SVMRegressor",
    [R(5, 4)],
    dict(
        coefficients=[0.5] * 3,
        kernel_params=[0.1, 0.0, 3.0],
        kernel_type="RBF",
        n_supports=3,
        rho=[0.1],
        support_vectors=[0.3] * 12,
    ),
    domain="ai.onnx.ml",
)
tree = dict(
    nodes_treeids=[0] * 5 + [1],
    nodes_nodeids=[0, 1, 2, 3, 4, 0],
    nodes_featureids=[0, 1, 0, 0, 0, 0],
    nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "LEAF"],
    nodes_values=[0.5, 0.1, 0.0, 0.0, 0.0, 0.0],
    nodes_truenodeids=[1, 3, 0, 0, 0, 0],
    nodes_falsenodeids=[2, 4, 0, 0, 0, 0],
)
for nc in (2, 3):
    case(
        "TreeEnsembleClassifier",
        [R(5, 4)],
        dict(
            tree,
            class_treeids=[0, 0, 0, 1],
            class_nodeids=[2, 3, 4, 0],
            class_ids=[0, 1, nc - 1, 0],
            class_weights=[1.0, 1.0, 1.0, 1.0],
            classlabels_int64s=list(range(nc)),
            post_transform="SOFTMAX",
        ),
        2,
        opset=3,
        domain="ai.onnx.ml",
    )
case(
    "TreeEnsembleClassifier",
    [R(5, 4)],
    dict(
        tree,
        class_treeids=[0, 0, 0, 1],
        class_nodeids=[2, 3, 4, 0],
        class_ids=[0, 0, 0, 0],
        class_weights=[1.0, 1.0, 1.0, 1.0],
        classlabels_strings=["a", "b"],
    ),
    2,
    opset=3,
    domain="ai.onnx.ml",
)
case(
    "TreeEnsembleRegressor",
    [R(5, 4)],
    dict(
        tree,
        target_treeids=[0, 0, 0, 1],
        target_nodeids=[2, 3, 4, 0],
        target_ids=[0, 1, 0, 0],
        target_weights=[1.0, 1.0, 1.0, 1.0],
        n_targets=2,
    ),
    opset=3,
    domain="ai.onnx.ml",
)
case(
    "TreeEnsembleRegressor",
    [R(5, 4, d=np.float64)],
    dict(
        tree,
        target_treeids=[0, 0, 0, 1],
        target_nodeids=[2, 3, 4, 0],
        target_ids=[0, 0, 0, 0],
        target_weights=[1.0, 1.0, 1.0, 1.0],
        n_targets=1,
    ),
    opset=3,
    domain="ai.onnx.ml",
)
case(
    "TreeEnsemble",
    [R(5, 4)],
    dict(
        n_targets=2,
        tree_roots=[0],
        nodes_featureids=[0, 0],
        nodes_splits=numpy_helper.from_array(np.array([0.1, 0.2], f32)),
        nodes_modes=numpy_helper.from_array(np.array([0, 0], u8)),
        nodes_truenodeids=[1, 0],
        nodes_trueleafs=[0, 1],
        nodes_falsenodeids=[2, 1],
        nodes_falseleafs=[1, 1],
        leaf_targetids=[0, 1, 0],
        leaf_weights=numpy_helper.from_array(np.array([0.1, 0.2, 0.3], f32)),
    ),
    domain="ai.onnx.ml",
)
case("ZipMap", [R(5, 2)], dict(classlabels_int64s=[3, 7]), domain="ai.onnx.ml")
case("ZipMap", [R(1, 2)], dict(classlabels_strings=["a", "b"]), domain="ai.onnx.ml")
