
define void @vector_add_kernel(ptr noalias %slots, i64 %begin, i64 %end, ptr noalias %scratch) nounwind {
entry:
  %A_1 = load ptr, ptr %slots
  %slot2 = getelementptr i64, ptr %slots, i64 1
  %B_3 = load ptr, ptr %slot2
  %slot4 = getelementptr i64, ptr %slots, i64 2
  %C_5 = load ptr, ptr %slot4
  br label %blocks
blocks:
  %number = phi i64 [ %begin, %entry ], [ %following, %next_block ]
  %v6 = icmp slt i64 %number, %end
  br i1 %v6, label %block, label %done
block:
  %v7 = urem i64 %number, 4
  %v8 = udiv i64 %number, 4
  %v9 = trunc i64 %v7 to i32
  br label %for10
for10:
  %i_v14 = phi i32 [ 0, %block ], [ %next15, %next12 ]
  %v16 = icmp slt i32 %i_v14, 256
  br i1 %v16, label %body11, label %end13
body11:
  %v17 = mul nsw i32 %v9, 1024
  %v18 = mul nsw i32 %i_v14, 4
  %v19 = add nsw i32 %v17, %v18
  %p20 = getelementptr inbounds float, ptr %A_1, i32 %v19
  %v21 = load <4 x float>, ptr %p20, align 4, !alias.scope !1000, !noalias !2000
  %v22 = mul nsw i32 %v9, 1024
  %v23 = mul nsw i32 %i_v14, 4
  %v24 = add nsw i32 %v22, %v23
  %p25 = getelementptr inbounds float, ptr %B_3, i32 %v24
  %v26 = load <4 x float>, ptr %p25, align 4, !alias.scope !1000, !noalias !2000
  %v27 = fadd <4 x float> %v21, %v26
  %v28 = mul nsw i32 %v9, 1024
  %v29 = mul nsw i32 %i_v14, 4
  %v30 = add nsw i32 %v28, %v29
  %p31 = getelementptr inbounds float, ptr %C_5, i32 %v30
  store <4 x float> %v27, ptr %p31, align 4, !alias.scope !1000, !noalias !2000
  br label %next12
next12:
  %next15 = add nsw i32 %i_v14, 1
  br label %for10
end13:
  br label %next_block
next_block:
  %following = add nsw i64 %number, 1
  br label %blocks
done:
  ret void
}

!1 = distinct !{!1}
!2 = !{i32 1}
!3000 = distinct !{!3000, !1}
!1000 = !{!3000}
!2000 = !{}
